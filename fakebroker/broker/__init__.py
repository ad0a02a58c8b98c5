"""The Kafka broker as a state machine: bytes and times in, bytes out. No loop, socket, clock, thread or chance.

Imports `protocol` only. Inside, `settings` <- `release` <- `core` <- `apis` <- `engine`. Begin with
`apis/heartbeat.py`, then the group's table in `core/groups/classic/table.py`; `engine/connection.py` shows how a
request gets there.
"""
