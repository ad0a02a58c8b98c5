"""A broker in virtual time that begins as a recorded cluster did, for replays. Begin with `broker.py`."""
