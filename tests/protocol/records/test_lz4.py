"""The lz4 frame and the checksum that old clients got wrong."""

import os

import cramjam
import pytest

from fakebroker.protocol.pace import finished
from fakebroker.protocol.records import lz4
from fakebroker.protocol.records.faults import BadCompression


def unpacked(data: bytes, limit_bytes: int) -> bytes:
    return bytes(finished(lz4.unpack(data, limit_bytes)))


@pytest.mark.rules("RC-4")
@pytest.mark.parametrize("data", [b"", b"a", b"text " * 50_000, os.urandom(150_000)])
def test_another_decoder_reads_the_frame(data: bytes) -> None:
    """The frame is a right one, of independent blocks of 64 KiB: Java reads no others."""
    frame = lz4.pack(data)
    assert bytes(cramjam.lz4.decompress(frame)) == data
    assert frame[4:6] == bytes([0x60, 0x40])
    assert unpacked(frame, 1 << 20) == data


@pytest.mark.rules("RC-4")
def test_the_checksum_of_format_0() -> None:
    """Format 0 sums the magic as well; readers take both sums, and no third one."""
    data = b"text " * 100
    right, wrong = lz4.pack(data), lz4.pack(data, broken_checksum=True)
    assert right[6] == 0x82
    assert right[:6] == wrong[:6]
    assert right[7:] == wrong[7:]
    assert right[6] != wrong[6]
    assert unpacked(right, 1000) == unpacked(wrong, 1000) == data
    for third in set(range(256)) - {right[6], wrong[6]}:
        with pytest.raises(BadCompression):
            unpacked(right[:6] + bytes([third]) + right[7:], 1000)


def test_frames_of_other_writers() -> None:
    """Blocks that depend on each other are refused, as Kafka does (seen on 4.3.1); a content checksum is no trouble."""
    data = bytes(range(256)) * 10  # one block, whatever cramjam writes
    linked = bytearray(cramjam.lz4.compress(data))
    with pytest.raises(BadCompression, match="linked blocks"):
        unpacked(bytes(linked), 1 << 20)
    linked[4] |= 0x20  # the only block depends on nothing
    linked[6] = lz4._header_checksum(bytes(linked[4:6]))
    assert unpacked(bytes(linked), 1 << 20) == data


@pytest.mark.parametrize(
    ("frame", "what"), [("", "start"), ("01020304050607", "start"), ("04224d18614000", "dictionary")]
)
def test_no_frame(frame: str, what: str) -> None:
    """What is not a frame, or needs a dictionary, is refused by name."""
    with pytest.raises(BadCompression, match=what):
        unpacked(bytes.fromhex(frame), 100)
