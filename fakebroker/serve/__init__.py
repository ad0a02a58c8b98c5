"""Puts the broker on sockets (`net`) or into virtual time (`sim`), and reads the options of listeners and logins.

Imports `broker` and `protocol`. Begin with `net/server.py`; `sim/network.py` is the same without sockets.
"""
