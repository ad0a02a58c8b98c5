"""The ways in from outside: the command line, the HTTP API with its page, the shell client of it, the pytest plugin.

May import every room; nothing imports it. Begin with `main.py` (`fakebroker serve`) and `commands`;
`http/operations.py` lists the HTTP API, `pytest/plugin.py` has the fixtures.
"""
