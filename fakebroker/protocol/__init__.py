"""What goes over the wire and into logs: messages, records, errors, and the values that all rooms share.

Imports nothing of ours. Begin with `schema/message.py` (how a message is declared), then a message such as
`wire/messages/heartbeat.py`; `records` has batches and the records of internal topics.
"""
