"""Pushes of metrics as clients write them: protobuf, put together field by field."""

from collections.abc import Mapping
from struct import pack


def field(number: int, content: bytes) -> bytes:
    """A field of bytes: a text or a message."""
    return bytes([number << 3 | 2]) + varint(len(content)) + content


def varint(value: int) -> bytes:
    """A number of variable length."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def attribute(number: int, key: str, value: str) -> bytes:
    """An attribute with a text, in the field of that number."""
    return field(number, field(1, key.encode()) + field(2, field(1, value.encode())))


def point(value: float, attributes: Mapping[str, str] = {}, time_ms: int = 1_700_000_000_000) -> bytes:
    """A number with attributes; a whole one as such."""
    number = bytes([4 << 3 | 1]) + pack("<d", value)
    if isinstance(value, int):
        number = bytes([6 << 3 | 1]) + pack("<q", value)
    own = b"".join(attribute(7, key, text) for key, text in attributes.items())
    return bytes([3 << 3 | 1]) + pack("<Q", time_ms * 1_000_000) + number + own


def gauge(name: str, *points: bytes) -> bytes:
    return field(1, name.encode()) + field(5, b"".join(field(1, each) for each in points))


def delta_sum(name: str, *points: bytes) -> bytes:
    """A sum since the push before."""
    return field(1, name.encode()) + field(7, b"".join(field(1, each) for each in points) + bytes([2 << 3, 1]))


def pushed(*metrics: bytes, resource: Mapping[str, str] = {}) -> bytes:
    """The payload of a push with these metrics."""
    attributes = b"".join(attribute(1, key, text) for key, text in resource.items())
    scope = field(1, field(1, b"scope")) + b"".join(field(2, each) for each in metrics)
    return field(1, field(1, attributes) + field(2, scope))
