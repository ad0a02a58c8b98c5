"""`fakebroker ctl`: the HTTP API from a shell. The commands are the rows of `control/operations.py` and
of `ctl/extras.py`."""
