"""The journal outside of the engine: its schema, rows and files, what is made of them, and what is kept secret."""
