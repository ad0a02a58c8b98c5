"""Snappy as Kafka's clients write it (RC-4): the xerial stream of Java, or one raw block. Both are read."""

from typing import Final

from cramjam import DecompressionError
from cramjam import snappy as codec

from fakebroker.protocol.pace import Pace
from fakebroker.protocol.records.compression import STEP_BYTES, Unpacking, too_large
from fakebroker.protocol.records.faults import BadCompression

_XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER: Final = _XERIAL_MAGIC + bytes([0, 0, 0, 1, 0, 0, 0, 1])  # version, oldest version that can read it
_CHUNK_BYTES: Final = 32 << 10
_CHUNK_COSTS_BYTES: Final = 512  # what the smallest chunk counts as
_LARGEST_GAIN: Final = 64  # an element of the block format makes at most 64 bytes out of two


def pack(data: bytes) -> bytes:
    """`data` as a xerial stream."""
    parts = [_XERIAL_HEADER]
    for start in range(0, len(data), _CHUNK_BYTES):
        block = bytes(codec.compress_raw(data[start : start + _CHUNK_BYTES]))
        parts += (len(block).to_bytes(4, "big"), block)
    return b"".join(parts)


def unpack(data: bytes, limit_bytes: int) -> Unpacking:
    """What is in a xerial stream or a raw block. Raises BadCompression, or TooLarge beyond `limit_bytes`."""
    if not data.startswith(_XERIAL_MAGIC):
        return _unpack_block(data, limit_bytes, limit_bytes)
    if len(data) < len(_XERIAL_HEADER):
        raise BadCompression("snappy data is truncated in its header")
    unpacked = bytearray()
    room, at, pace = limit_bytes, len(_XERIAL_HEADER), Pace(STEP_BYTES)
    while at < len(data):
        if pace.is_over(_CHUNK_COSTS_BYTES):
            yield
        if data.startswith(_XERIAL_MAGIC, at):  # streams may follow one another
            at += len(_XERIAL_HEADER)
            continue
        size = int.from_bytes(data[at : at + 4], "big")
        block = data[at + 4 : at + 4 + size]
        if len(block) != size or len(data) < at + 4:
            raise BadCompression(f"snappy data is truncated in the chunk at byte {at}")
        plain = _unpack_block(block, room, limit_bytes)
        unpacked += plain
        room -= len(plain)
        at += 4 + size
        if pace.is_over(len(plain)):
            yield
    return unpacked


def _unpack_block(block: bytes, room: int, limit_bytes: int) -> bytes:
    try:
        size = codec.decompress_raw_len(block)
        if size > room:
            raise too_large("snappy", limit_bytes)
        if size > _LARGEST_GAIN * len(block):
            raise BadCompression(f"{len(block)} bytes of snappy data cannot decompress to {size} bytes")
        return bytes(codec.decompress_raw(block))
    except DecompressionError as fault:
        raise BadCompression(f"snappy data cannot be decompressed: {fault}") from None
