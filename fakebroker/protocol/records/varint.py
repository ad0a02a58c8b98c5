"""Zigzag varints, in which records store their numbers (RB-4): at most 5 bytes for 32 bits, 10 bytes for 64 bits.

The flat loops over records read the common short ones in place and call this for the rest. The protocol's own varints
are unsigned and in `protocol/schema/runtime.py`.
"""

from fakebroker.protocol.records.faults import InvalidRecord

INT_BYTES = 5
"""Of the longest varint of 32 bits."""

LONG_BYTES = 10
"""Of the longest varint of 64 bits."""

_LONG_END = 1 << 63
_SHORT = tuple(bytes([n << 1]) for n in range(64))


def as_long(value: int) -> int:
    """What a sum or difference of Java's longs gives: 64 bits of it."""
    return value if -_LONG_END <= value < _LONG_END else (value + _LONG_END) % (2 * _LONG_END) - _LONG_END


def encode_zigzag_varint(value: int) -> bytes:
    """`value` as a zigzag varint. Raises InvalidRecord if it has more than 64 bits."""
    if 0 <= value < 64:
        return _SHORT[value]
    rest = value << 1 if value >= 0 else ~(value << 1)
    if rest < 16384:
        return bytes((rest & 127 | 128, rest >> 7)) if rest > 127 else bytes((rest,))
    if rest >> 64:
        raise InvalidRecord(f"{value} does not fit into 64 bits")
    out = bytearray()
    while rest > 127:
        out.append(rest & 127 | 128)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def decode_zigzag_varint(data: bytes, position: int, max_bytes: int = INT_BYTES) -> tuple[int, int]:
    """The value of the zigzag varint at `position`, and the position after it.

    `max_bytes` is INT_BYTES for a number of 32 bits, LONG_BYTES for one of 64.

    Raises InvalidRecord when the data ends inside it, it goes on for longer than `max_bytes`, or it has more bits
    than the 32 or 64 it may have.
    """
    value = shift = 0
    for at in range(position, position + max_bytes):
        if at >= len(data):
            raise InvalidRecord(f"the data ends inside the varint at byte {position}")
        byte = data[at]
        value |= (byte & 127) << shift
        if byte < 128:
            if value >> (64 if max_bytes == LONG_BYTES else 32):
                break
            return (value >> 1) ^ -(value & 1), at + 1
        shift += 7
    raise InvalidRecord(f"the varint at byte {position} is too long for {64 if max_bytes == LONG_BYTES else 32} bits")
