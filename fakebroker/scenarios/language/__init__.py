"""The language of scenario files: what may stand in them, and reading them."""
