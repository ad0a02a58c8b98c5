"""The lz4 frame as Kafka's clients write it: independent blocks of 64 KiB, because Java reads no others (RC-4).

Message format 0 has a quirk: its header checksum covers the frame's magic too. It is written for that format and
accepted in all.
"""

from typing import Final

from cramjam import DecompressionError
from cramjam import lz4 as codec

from fakebroker.protocol.records.compression import Unpacking, unpack_growing
from fakebroker.protocol.records.faults import BadCompression

_MAGIC: Final = b"\x04\x22\x4d\x18"
_FLAGS: Final = 0x60  # version 1, independent blocks, no checksums of blocks or content, no content size
_BLOCK_64_KIB: Final = 0x40
_BLOCK_BYTES: Final = 64 << 10
_STORED: Final = 1 << 31
_END_MARK: Final = bytes(4)
_FAST_LEVEL: Final = 9  # Kafka takes its default for "fast"
_CONTENT_SIZE_FLAG: Final = 0x08
_DICTIONARY_FLAG: Final = 0x01
_INDEPENDENT_FLAG: Final = 0x20


def pack(data: bytes, level: int | None = None, *, broken_checksum: bool = False) -> bytes:
    """`data` as one frame; any `level` but Kafka's default of 9 asks for the slow, better compression."""
    descriptor = bytes([_FLAGS, _BLOCK_64_KIB])
    checksum = _header_checksum(_MAGIC + descriptor if broken_checksum else descriptor)
    parts = [_MAGIC, descriptor, bytes([checksum])]
    for start in range(0, len(data), _BLOCK_BYTES):
        chunk = data[start : start + _BLOCK_BYTES]
        block = _pack_block(chunk, level)
        stored = len(block) >= len(chunk)
        size = len(chunk) | _STORED if stored else len(block)
        parts += (size.to_bytes(4, "little"), chunk if stored else block)
    parts.append(_END_MARK)
    return b"".join(parts)


def unpack(data: bytes, limit_bytes: int) -> Unpacking:
    """What is in a frame, whichever way its header checksum was made. Raises BadCompression, TooLarge."""
    if len(data) < 7 or not data.startswith(_MAGIC):
        raise BadCompression("lz4 data does not start with a frame")
    if data[4] & _DICTIONARY_FLAG:
        raise BadCompression("lz4 frames with a dictionary are not supported")
    if not data[4] & _INDEPENDENT_FLAG:
        raise BadCompression("lz4 frames with linked blocks are not supported")  # as seen on 4.3.1
    end = 14 if data[4] & _CONTENT_SIZE_FLAG else 6
    right = _header_checksum(data[4:end])
    if data[end : end + 1] == bytes([_header_checksum(data[:end])]):
        data = b"".join((data[:end], bytes([right]), memoryview(data)[end + 1 :]))
    return (yield from unpack_growing("lz4", codec.decompress_into, data, limit_bytes, DecompressionError))


def _pack_block(chunk: bytes, level: int | None) -> bytes:
    if level in (None, _FAST_LEVEL):
        return bytes(codec.compress_block(chunk, store_size=False))
    return bytes(codec.compress_block(chunk, mode="high_compression", compression=level, store_size=False))


def _header_checksum(descriptor: bytes) -> int:
    """The second byte of xxHash32, seed 0, of at most 15 bytes."""
    mask = 0xFFFFFFFF
    state = (0x165667B1 + len(descriptor)) & mask
    whole = len(descriptor) & ~3
    for start in range(0, whole, 4):
        state = (state + int.from_bytes(descriptor[start : start + 4], "little") * 0xC2B2AE3D) & mask
        state = (state << 17 | state >> 15) * 0x27D4EB2F & mask
    for byte in descriptor[whole:]:
        state = (state + byte * 0x165667B1) & mask
        state = (state << 11 | state >> 21) * 0x9E3779B1 & mask
    state = (state ^ state >> 15) * 0x85EBCA77 & mask
    state = (state ^ state >> 13) * 0xC2B2AE3D & mask
    return (state ^ state >> 16) >> 8 & 0xFF
