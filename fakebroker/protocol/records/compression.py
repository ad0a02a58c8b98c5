"""Compression of records (RB-3, RC-4): gzip, snappy, lz4, zstd; unpacking never takes more memory than it is allowed.

cramjam does the work and is imported when the first compressed batch is looked into; gzip is the standard library's.
"""

import zlib
from collections.abc import Callable, Generator, Iterator
from typing import Final

from fakebroker.protocol.pace import Pace, finished
from fakebroker.protocol.records.faults import BadCompression, TooLarge

Unpacking = Generator[None, None, bytes | bytearray]
"""Unpacking in steps of some 10 to 100 ms for the largest data; it returns the result."""

NONE: Final = 0
GZIP: Final = 1
SNAPPY: Final = 2
LZ4: Final = 3
ZSTD: Final = 4

CODEC_NAMES: Final = ("none", "gzip", "snappy", "lz4", "zstd")

_GZIP_MAGIC: Final = b"\x1f\x8b"
_GZIP_HEADER: Final = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"  # no time, unknown system: as Java writes it

DECOMPRESSED_LIMIT_BYTES: Final = 128 << 20
"""What one batch may unpack to unless the caller says otherwise: far beyond any honest batch of one MiB."""

SHORT_BYTES: Final = 1 << 20
"""What is unpacked at once, unless it is in very many pieces."""

STEP_BYTES: Final = 8 << 20
"""What is unpacked in one step, by codecs that can stop in between."""

PACKED_PER_STEP_BYTES: Final = 16 << 10
"""What is packed in one step: gzip of level 9 takes 50 ms for so much of its worst data."""

_ZSTD_FAST_LEVEL: Final = 9  # to begin a stream takes 1 ms at most
_ZSTD_STREAM_LEVEL: Final = 19  # MOCK: the highest of a stream, with 100 MB; those above only look further back
_ZSTD_BYTES_AT_ONCE: Final = 64 << 10  # the worst take 40 ms
_GZIP_INPUT_BYTES: Final = 4 << 10
_GZIP_OUTPUT_BYTES: Final = 1 << 20
_GZIP_READ_COSTS: Final = 16  # what a byte of input counts as: blocks without content take 0.14 us for each of theirs
_MEMBER_COSTS_BYTES: Final = 2 << 10  # what the smallest gzip member counts as: it takes some microseconds


def compress(codec: int, data: bytes, level: int | None = None) -> bytes:
    """`data` packed by codec 0 to 4 in the form that Java clients write; `level` as in compression.<codec>.level."""
    if codec == NONE:
        return data
    return _PACKERS[codec](data, level)


def compress_in_steps(codec: int, data: bytes, level: int | None = None) -> Generator[None, None, bytes]:
    """The same bytes as `compress` gives, with pauses for others. Snappy and lz4, which are fast, make none."""
    if codec not in _PACKERS_IN_STEPS:
        return compress(codec, data, level)
    return (yield from _PACKERS_IN_STEPS[codec](data, level))


def decompress(codec: int, data: bytes, limit_bytes: int = DECOMPRESSED_LIMIT_BYTES) -> bytes:
    """What codec 0 to 4 made of `data`.

    Raises BadCompression for an unknown codec and data that its codec cannot read, TooLarge when the result would be
    larger than `limit_bytes` (found out before that much memory is taken).
    """
    if codec == NONE:
        return data
    return bytes(finished(decompress_in_steps(codec, data, limit_bytes)))


def decompress_in_steps(
    codec: int, data: bytes, limit_bytes: int = DECOMPRESSED_LIMIT_BYTES, short_bytes: int = SHORT_BYTES
) -> Unpacking:
    """As `decompress`, with pauses for others where there is more than `short_bytes` to unpack.

    Nothing of the result is held at the first pause: many may wait there until it is their turn to hold much.
    """
    if codec not in _UNPACKERS:
        raise BadCompression(f"compression codec {codec} is unknown")
    unpack = _UNPACKERS[codec]
    try:
        next(unpack(data, min(limit_bytes, short_bytes)))
    except StopIteration as end:
        unpacked: bytes | bytearray = end.value
        return unpacked
    except TooLarge:
        if limit_bytes <= short_bytes:
            raise
    yield
    return (yield from unpack(data, limit_bytes))


def too_large(name: str, limit_bytes: int) -> TooLarge:
    """The fault of data that unpacks to more than is allowed."""
    return TooLarge(f"the {name} data is larger than {limit_bytes} bytes when decompressed")


def unpack_growing(
    name: str, unpack_into: Callable[[bytes, bytearray], int], data: bytes, limit_bytes: int, failures: type[Exception]
) -> Unpacking:
    """Unpack into buffers four times larger each time, the last one of `limit_bytes`.

    A large buffer takes longer to make than to fill, so each is a step of its own, and the last one is not copied.
    """
    size = min(limit_bytes, max(4 * len(data), 1 << 16))
    while True:
        buffer = bytearray(size)
        if size > STEP_BYTES:
            yield
        try:
            used = unpack_into(data, buffer)
            del buffer[used:]
            return buffer
        except failures as fault:
            if "failed to write whole buffer" not in str(fault):
                raise BadCompression(f"{name} data cannot be decompressed: {fault}") from None
        if size >= limit_bytes:
            raise too_large(name, limit_bytes)
        if size > STEP_BYTES:
            del buffer
            yield
        size = min(limit_bytes, 4 * size)


def _pack_gzip(data: bytes, level: int | None) -> bytes:
    return finished(_pack_gzip_in_steps(data, level))


def _pack_gzip_in_steps(data: bytes, level: int | None) -> Generator[None, None, bytes]:
    packer = zlib.compressobj(-1 if level is None else level, zlib.DEFLATED, -15)
    trailer = zlib.crc32(data).to_bytes(4, "little") + (len(data) & 0xFFFFFFFF).to_bytes(4, "little")
    parts = [_GZIP_HEADER]
    for piece in _pieces(data):
        parts.append(packer.compress(piece))
        yield
    return b"".join((*parts, packer.flush(), trailer))


def _pieces(data: bytes) -> Iterator[bytes]:
    return (data[at : at + PACKED_PER_STEP_BYTES] for at in range(0, len(data), PACKED_PER_STEP_BYTES))


def _unpack_gzip(data: bytes, limit_bytes: int) -> Unpacking:
    """Members may follow one another; Java ignores other bytes, too.

    The unpacker is given little at a time: it copies what follows the end of a member.
    """
    source, at = memoryview(data), 0
    unpacked, room, pace = bytearray(), limit_bytes, Pace(STEP_BYTES)
    while at == 0 or data.startswith(_GZIP_MAGIC, at):
        unpacker = zlib.decompressobj(31)
        rest: bytes | memoryview = b""
        part = b"first"
        while not unpacker.eof:
            if not rest:
                rest = source[at : at + _GZIP_INPUT_BYTES]
                at += len(rest)
            if not rest and not part:
                raise BadCompression("gzip data is truncated")
            try:
                part = unpacker.decompress(rest, min(room + 1, _GZIP_OUTPUT_BYTES))
            except zlib.error as fault:
                raise BadCompression(f"gzip data cannot be decompressed: {fault}") from None
            room -= len(part)
            if room < 0:
                raise too_large("gzip", limit_bytes)
            unpacked += part
            read = len(rest) - len(unpacker.unconsumed_tail) - len(unpacker.unused_data)
            rest = unpacker.unconsumed_tail
            if pace.is_over(len(part) + _GZIP_READ_COSTS * read):
                yield
        at -= len(unpacker.unused_data)
        if pace.is_over(_MEMBER_COSTS_BYTES):
            yield
    return unpacked


def _pack_snappy(data: bytes, _level: int | None) -> bytes:
    from fakebroker.protocol.records import snappy

    return snappy.pack(data)


def _unpack_snappy(data: bytes, limit_bytes: int) -> Unpacking:
    from fakebroker.protocol.records import snappy

    return snappy.unpack(data, limit_bytes)


def _pack_lz4(data: bytes, level: int | None) -> bytes:
    from fakebroker.protocol.records import lz4

    return lz4.pack(data, level)


def _unpack_lz4(data: bytes, limit_bytes: int) -> Unpacking:
    from fakebroker.protocol.records import lz4

    return lz4.unpack(data, limit_bytes)


def _pack_zstd(data: bytes, level: int | None) -> bytes:
    return finished(_pack_zstd_in_steps(data, level))


def _pack_zstd_in_steps(data: bytes, level: int | None) -> Generator[None, None, bytes]:
    """Up to level 9 the very frame that Kafka's stream writes (PD-22).

    A stream does not know how long it will be, and begins with all that its level may ask for: with 22, 0.8 s and 700
    MB for one byte. So small data is packed at once at higher levels, with its size in the frame.
    """
    from cramjam import zstd

    level = 3 if level is None else level
    if level > _ZSTD_FAST_LEVEL and len(data) <= _ZSTD_BYTES_AT_ONCE:
        packed = bytes(zstd.compress(data, level=level))
        yield
        return packed
    packer = zstd.Compressor(level=min(level, _ZSTD_STREAM_LEVEL))
    for piece in _pieces(data):
        packer.compress(piece)
        yield
    return bytes(packer.flush()) + bytes(packer.finish())


def _unpack_zstd(data: bytes, limit_bytes: int) -> Unpacking:
    from cramjam import DecompressionError, zstd

    return unpack_growing("zstd", zstd.decompress_into, data, limit_bytes, DecompressionError)


_PACKERS: Final[dict[int, Callable[[bytes, int | None], bytes]]] = {
    GZIP: _pack_gzip,
    SNAPPY: _pack_snappy,
    LZ4: _pack_lz4,
    ZSTD: _pack_zstd,
}
_PACKERS_IN_STEPS: Final = {GZIP: _pack_gzip_in_steps, ZSTD: _pack_zstd_in_steps}
_UNPACKERS: Final[dict[int, Callable[[bytes, int], Unpacking]]] = {
    GZIP: _unpack_gzip,
    SNAPPY: _unpack_snappy,
    LZ4: _unpack_lz4,
    ZSTD: _unpack_zstd,
}
