"""Both forms of snappy."""

import pytest

from fakebroker.protocol.pace import finished
from fakebroker.protocol.records import snappy
from fakebroker.protocol.records.faults import BadCompression, InvalidRecord
from tests.protocol.records.client_libraries import python_codec


def unpacked(data: bytes, limit_bytes: int) -> bytes:
    return bytes(finished(snappy.unpack(data, limit_bytes)))


@pytest.mark.rules("RC-4")
def test_writes_the_stream_of_java() -> None:
    """What is written starts with Java's header and is cut into chunks of 32 KiB, which others can read."""
    packed = snappy.pack(b"z" * 70_000)
    assert packed[:16].hex() == "82534e415050590000000001" + "00000001"
    assert python_codec.snappy_decode(packed) == b"z" * 70_000


@pytest.mark.rules("RC-4")
@pytest.mark.parametrize("xerial", [True, False])
def test_reads_both_forms(xerial: bool) -> None:
    """A raw block and a stream unpack alike; streams may follow one another."""
    packed = python_codec.snappy_encode(b"words " * 20_000, xerial_compatible=xerial)
    assert unpacked(packed, 1 << 20) == b"words " * 20_000
    if xerial:
        assert unpacked(packed + packed, 1 << 20) == b"words " * 40_000


def test_the_limit_counts_all_chunks() -> None:
    """Chunks that are small each do not add up to more than is allowed."""
    packed = snappy.pack(b"z" * 70_000)
    with pytest.raises(InvalidRecord, match="larger than 69999 bytes"):
        unpacked(packed, 69_999)


@pytest.mark.parametrize("tail", ["00", "000000", "00000009ab", "ffffffff00"])
def test_a_chunk_that_is_not_there(tail: str) -> None:
    """A stream that ends inside a chunk is bad compression."""
    with pytest.raises(BadCompression, match="in the chunk at byte"):
        unpacked(snappy.pack(b"abc") + bytes.fromhex(tail), 1 << 20)
