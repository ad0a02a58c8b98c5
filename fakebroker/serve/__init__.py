"""Puts the broker on sockets (`net`) or into virtual time (`sim`), keeps its state on disk (`storage`), reads options.

Imports `broker` and `protocol`. Begin with `net/server.py`; `sim/network.py` is the same without sockets.
"""
