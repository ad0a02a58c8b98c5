"""API messages, headers, frames and the registry of APIs."""
