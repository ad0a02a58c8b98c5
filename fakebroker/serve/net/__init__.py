"""asyncio sockets and real time around the engine. Nothing here knows Kafka.

`server.py` listens, `client_connection.py` is one client's socket, `loop.py` is the event loop of a broker that has one
of its own, and `tls` is a socket in place of a plain one.
"""
