"""`fakebroker ctl`: the HTTP API from a shell. The commands are the rows of `cli/http/operations.py` and
of `cli/ctl/extras.py`."""
