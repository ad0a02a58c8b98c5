"""What a client that does not speak Kafka probably speaks, for the log line that says why it was closed."""

_TEXT_METHODS = (b"GET ", b"POST", b"PUT ", b"HEAD", b"DELE", b"OPTI", b"PATC", b"CONN", b"PRI ", b"HTTP")


def hint(start: bytes) -> str:
    """A clause to append to an error about the bytes at `start`; empty when they look like nothing known."""
    if start[:2] == b"\x16\x03" and start[2:3] <= b"\x04":
        return "; these bytes look like a TLS handshake, and this listener speaks plain Kafka: check security.protocol"
    if start[:4] in _TEXT_METHODS:
        return "; these bytes look like HTTP, and this port speaks Kafka's protocol"
    if len(start) >= 4 and all(32 <= byte < 127 or byte in b"\r\n\t" for byte in start[:8]):
        return f"; these bytes look like text: {start.decode('latin-1')!r}"
    return ""
