"""`fakebroker ctl`: the HTTP door from a shell. The commands are the rows of `control/operations.py` and
of `ctl/extras.py`."""
