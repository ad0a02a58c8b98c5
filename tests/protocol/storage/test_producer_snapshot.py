"""Snapshots of producers: the bytes that Kafka 4.3.1 wrote, and what is read from them."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.storage.producer_snapshot import (
    ProducerSnapshotEntry,
    decode_producer_snapshot,
    encode_producer_snapshot,
)

KAFKA = bytes.fromhex(
    "0001 5c08fc22 00000001"
    "0000000000000000 0000 0000003b 0000000000000040 00000009 000001a21eb212b2 00000000 ffffffffffffffff"
)
ENTRY = ProducerSnapshotEntry(0, 0, 59, 64, 9, 1795811316402, 0, -1)
int16s, int32s, int64s = (st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (16, 32, 64))
entries_of_any = st.lists(
    st.builds(ProducerSnapshotEntry, int64s, int16s, int32s, int64s, int32s, int64s, int32s, int64s), max_size=5
)


def test_snapshot_of_kafka() -> None:
    """A producer's last batch, with its checksum."""
    assert decode_producer_snapshot(KAFKA) == [ENTRY]
    assert encode_producer_snapshot([ENTRY]) == KAFKA


@given(entries_of_any)
def test_snapshots_survive(entries: list[ProducerSnapshotEntry]) -> None:
    """What was written is read."""
    assert decode_producer_snapshot(encode_producer_snapshot(entries)) == entries


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        (b"", "cut off"),
        (KAFKA[:-1], "checksum is wrong"),
        (KAFKA[:-1] + b"\0", "checksum is wrong"),
        (b"\0\2" + KAFKA[2:], "version 2; only version 1"),
    ],
)
def test_damaged_snapshots(content: bytes, wrong: str) -> None:
    """A file that is cut off, changed or newer is refused."""
    with pytest.raises(WireError, match=wrong):
        decode_producer_snapshot(content)


@given(st.binary(max_size=80))
def test_any_bytes(content: bytes) -> None:
    """Whatever is in the file: entries, or WireError."""
    with suppress(WireError):
        decode_producer_snapshot(content)
