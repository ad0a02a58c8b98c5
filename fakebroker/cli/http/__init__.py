"""The HTTP API: what a test can do to a broker in Python, for a test in any language (`fakebroker serve --control`).

`operations.py` is the table: a verb and a path for each power. Arguments, types and texts come from the power's own
signature and docstring. It needs the extra `[control]`; a broker without `--control` imports nothing of it.
"""
