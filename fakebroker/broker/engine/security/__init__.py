"""Authentication of connections."""
