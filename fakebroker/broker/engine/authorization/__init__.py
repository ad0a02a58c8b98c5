"""Authorization of requests: what each API needs, and what becomes of a request whose client may not do all of it."""
