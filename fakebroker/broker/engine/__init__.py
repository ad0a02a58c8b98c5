"""Connections, dispatch, parked requests, timers, the journal. Sans-IO: bytes and times in, bytes out."""
