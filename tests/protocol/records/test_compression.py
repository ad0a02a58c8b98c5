"""Compression: round trips, other people's forms, damage, and bombs."""

import contextlib
import subprocess
import sys
import tracemalloc
import zlib
from random import Random
from typing import Any

import pytest
from cramjam import zstd
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.pace import finished
from fakebroker.protocol.records import compression
from fakebroker.protocol.records.compression import (
    GZIP,
    LZ4,
    NONE,
    PACKED_PER_STEP_BYTES,
    SNAPPY,
    ZSTD,
    compress,
    compress_in_steps,
    decompress,
    decompress_in_steps,
)
from fakebroker.protocol.records.faults import BadCompression, InvalidRecord
from tests.protocol.records.client_libraries import python_codec

CODECS = [GZIP, SNAPPY, LZ4, ZSTD]
PACKERS = {
    GZIP: python_codec.gzip_encode,
    SNAPPY: python_codec.snappy_encode,
    LZ4: python_codec.lz4_encode,
    ZSTD: python_codec.zstd_encode,
}


@pytest.mark.rules("RB-3", "RC-4")
@given(st.one_of(st.binary(max_size=300), st.integers(0, 300_000).map(lambda n: b"ab" * n)), st.integers(0, 4))
def test_round_trip(data: bytes, codec: int) -> None:
    """What is packed is unpacked, also when it fills the limit exactly."""
    assert decompress(codec, compress(codec, data), len(data)) == data


@pytest.mark.rules("RB-3", "PD-22")
@pytest.mark.parametrize(("codec", "level"), [(GZIP, 1), (GZIP, 9), (LZ4, 1), (LZ4, 17), (ZSTD, -5), (ZSTD, 19)])
def test_levels(codec: int, level: int) -> None:
    """Every level of compression.<codec>.level unpacks to the same data."""
    data = b"some words, some other words " * 5000
    assert decompress(codec, compress(codec, data, level)) == data


@pytest.mark.rules("RC-4")
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("size", [0, 1, 100, 200_000])
def test_reads_other_packers(codec: int, size: int) -> None:
    """Data packed by a client library unpacks."""
    assert decompress(codec, PACKERS[codec](b"q" * size)) == b"q" * size


@pytest.mark.parametrize("codec", CODECS)
def test_every_prefix_is_refused(codec: int) -> None:
    """Data that ends too early is bad compression, not something shorter (16 bytes are an empty stream of snappy)."""
    packed = compress(codec, bytes(range(256)) * 3)
    for size in set(range(len(packed))) - ({16} if codec == SNAPPY else set()):
        with pytest.raises(BadCompression):
            decompress(codec, packed[:size])


@given(st.sampled_from(CODECS), st.data())
def test_damage_gives_data_or_our_error(codec: int, data: st.DataObject) -> None:
    """Changed bytes either unpack to something or raise our error; nothing else."""
    packed = bytearray(compress(codec, b"0123456789" * 20))
    for _ in range(data.draw(st.integers(1, 4))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(InvalidRecord):
        assert len(decompress(codec, bytes(packed), 10_000)) <= 10_000


@given(st.sampled_from(CODECS), st.binary(max_size=100))
def test_garbage_gives_data_or_our_error(codec: int, data: bytes) -> None:
    """Bytes of no codec either unpack to something or raise our error."""
    with contextlib.suppress(InvalidRecord):
        decompress(codec, data, 10_000)


@pytest.mark.parametrize("codec", CODECS)
def test_bombs_stop_at_the_limit(codec: int) -> None:
    """A small batch that unpacks to a hundred megabytes is refused before that memory is taken."""
    bomb = compress(codec, bytes(50 << 20))
    tracemalloc.start()
    with pytest.raises(InvalidRecord, match="larger than 1048576 bytes when decompressed"):
        decompress(codec, bomb, 1 << 20)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < (8 << 20) + len(bomb)


def test_a_lie_about_the_size_takes_no_memory() -> None:
    """A raw snappy block that claims a gigabyte in nine bytes is refused, whatever the limit."""
    with pytest.raises(BadCompression, match="cannot decompress to"):
        decompress(SNAPPY, b"\x80\x80\x80\x80\x04abcd", 2 << 30)


@pytest.mark.rules("PD-12")
@pytest.mark.parametrize("codec", [5, 6, 7])
def test_codecs_that_do_not_exist(codec: int) -> None:
    """Ids 5 to 7 are answered -1, as Kafka does."""
    with pytest.raises(BadCompression, match=f"codec {codec} is unknown") as caught:
        decompress(codec, b"")
    assert caught.value.code == ErrorCode.UNKNOWN_SERVER_ERROR


def test_gzip_members_and_what_follows_them() -> None:
    """Members may follow one another; bytes that start no member are ignored, as Java does."""
    packed = compress(GZIP, b"one ") + compress(GZIP, b"two")
    assert decompress(GZIP, packed + b"tail") == b"one two"
    with pytest.raises(InvalidRecord, match="larger than 5 bytes"):
        decompress(GZIP, packed, 5)


def steps_of(codec: int, packed: bytes) -> int:
    """In how many steps data is unpacked."""
    return 1 + sum(1 for _ in decompress_in_steps(codec, packed))


@pytest.mark.parametrize("codec", [GZIP, SNAPPY])
def test_many_small_pieces_are_unpacked_in_steps(codec: int) -> None:
    """Also if nothing, or next to nothing, is in them: 1 MB has room for 50,000 members of gzip."""
    one = compress(codec, b"")
    pieces = one * 50_000 if codec == GZIP else compress(SNAPPY, b"") + (b"\0\0\0\1" + b"\0") * 50_000
    assert steps_of(codec, pieces) >= 3
    assert decompress(codec, pieces) == b""


@pytest.mark.parametrize(("block", "content"), [(b"\0\0\0\xff\xff", b""), (b"\0\1\0\xfe\xffx", b"x")])
def test_gzip_blocks_with_little_in_them_are_unpacked_in_steps(block: bytes, content: bytes) -> None:
    """What is read counts, too, and more than what comes out of it: the dearest blocks take 0.14 s for each MB."""
    count = (1 << 20) // len(block)
    end = zlib.crc32(content * count).to_bytes(4, "little") + len(content * count).to_bytes(4, "little")
    packed = compress(GZIP, b"")[:10] + block * count + b"\3\0" + end

    assert steps_of(GZIP, packed) >= 3  # the first one is taken again, with room for more
    assert decompress(GZIP, packed) == content * count


def test_gzip_members_do_not_copy_what_follows_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unpacker copies what is left of its input: it gets little at a time, however much there is."""
    sizes: list[int] = []
    plain = zlib.decompressobj

    class Watched:
        def __init__(self, bits: int) -> None:
            self._unpacker = plain(bits)

        def __getattr__(self, name: str) -> object:
            return getattr(self._unpacker, name)

        def decompress(self, data: bytes, length: int) -> bytes:
            sizes.append(len(data))
            return self._unpacker.decompress(data, length)

    monkeypatch.setattr(zlib, "decompressobj", Watched)
    assert decompress(GZIP, compress(GZIP, b"ab") * 10_000) == b"ab" * 10_000
    assert max(sizes) <= 4096


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 4097, 8 << 20, (8 << 20) + 1])
def test_gzip_of_any_size(size: int) -> None:
    """Ends of members and of what is read at a time may fall together."""
    data = Random(size).randbytes(size)
    packed = compress(GZIP, data, 1)
    assert decompress(GZIP, packed + packed) == data + data
    with pytest.raises(BadCompression, match="truncated"):
        decompress(GZIP, packed[:-1])


@pytest.mark.rules("PD-22")
def test_zstd_as_kafka_recompresses() -> None:
    """The bytes are those that Kafka 4.3.1 stored (reference dialogue produce_zstd_needs_v7)."""
    record = bytes.fromhex("10000000026b027600")
    assert compress(ZSTD, record).hex() == "28b52ffd005848000010000000026b027600010000"


@pytest.mark.rules("PD-22")
@pytest.mark.parametrize("size", [1, 64 << 10, (64 << 10) + 1])
def test_high_levels_of_zstd_begin_no_stream_for_little_data(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream of level 22 begins with 700 MB and 0.8 s, also for one byte."""
    levels: list[int] = []

    make = zstd.Compressor

    def noted(level: int) -> Any:
        levels.append(level)
        return make(level=level)

    monkeypatch.setattr(zstd, "Compressor", noted)
    data = Random(1).randbytes(size)
    for level in (9, 10, 22):
        assert decompress(ZSTD, compress(ZSTD, data, level)) == data
    assert levels == ([9] if size <= 64 << 10 else [9, 10, 19])


@pytest.mark.rules("PD-22")
@pytest.mark.parametrize("size", [0, 1, PACKED_PER_STEP_BYTES, PACKED_PER_STEP_BYTES + 1, 300_000])
@pytest.mark.parametrize(
    ("codec", "level"), [(NONE, None), (GZIP, None), (GZIP, 9), (SNAPPY, None), (LZ4, 9), (ZSTD, 1)]
)
def test_what_is_packed_in_steps_is_the_same(codec: int, level: int | None, size: int) -> None:
    """The slow codecs make a pause after each piece, and give what they give of all at once."""
    data = bytes(Random(size).choices(b"ACGT", k=size))
    steps = compress_in_steps(codec, data, level)
    pauses = sum(1 for _ in iter(lambda: next(steps, "end"), "end"))

    assert pauses == (-(-size // PACKED_PER_STEP_BYTES) if codec in (GZIP, ZSTD) else 0)
    assert finished(compress_in_steps(codec, data, level)) == compress(codec, data, level)
    if codec == GZIP:
        assert compress(codec, data, level)[10:-8] == deflated(data, level)


def deflated(data: bytes, level: int | None) -> bytes:
    packer = zlib.compressobj(-1 if level is None else level, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def test_gzip_is_the_same_at_any_time() -> None:
    """No time of writing stands in the packed bytes."""
    assert compress(GZIP, b"x")[4:8] == bytes(4)
    assert zlib.decompress(compress(GZIP, b"x"), 31) == b"x"


def test_cramjam_is_imported_when_needed() -> None:
    """Importing the module costs nothing of the libraries behind it."""
    code = f"import sys, {compression.__name__}; sys.exit('cramjam' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
