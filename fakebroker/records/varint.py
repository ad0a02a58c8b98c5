"""Zigzag varints as records use them (RB-4): at most 5 bytes for 32 bits, 10 bytes for 64 bits.

The loops over records read the common short ones themselves and come here for the rest.
"""

from fakebroker.records.faults import InvalidRecord

_SHORT = tuple(bytes([n << 1]) for n in range(64))


def encode_zigzag_varint(value: int) -> bytes:
    """`value` as a zigzag varint. Raises InvalidRecord if it has more than 64 bits."""
    if 0 <= value < 64:
        return _SHORT[value]
    rest = value << 1 if value >= 0 else ~(value << 1)
    if rest >> 64:
        raise InvalidRecord(f"{value} has more than 64 bits")
    out = bytearray()
    while rest > 127:
        out.append(rest & 127 | 128)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def decode_zigzag_varint(data: bytes, position: int, max_bytes: int = 5) -> tuple[int, int]:
    """The zigzag varint at `position` and the position after it; `max_bytes` is 10 for a 64-bit one.

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
            if value >> (64 if max_bytes == 10 else 32):
                break
            return (value >> 1) ^ -(value & 1), at + 1
        shift += 7
    raise InvalidRecord(f"the varint at byte {position} is too long for {64 if max_bytes == 10 else 32} bits")
