"""The broker in the hands of a test: FakeBroker, its handles, snapshots, sweeps, journal files and explanations.

Imports `serve`, `client`, `broker` and `protocol`. Begin with `broker.py`, then a handle such as `handles/group.py`;
the names for users are in `fakebroker/__init__.py`. `releases.py` has the facts about releases that tools may use.
"""
