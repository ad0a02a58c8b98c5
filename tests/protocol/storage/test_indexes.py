"""Index files: the bytes that Kafka 4.3.1 wrote, and what is read from them."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.storage.indexes import (
    OffsetIndexEntry,
    TimeIndexEntry,
    TransactionIndexEntry,
    decode_offset_index,
    decode_time_index,
    decode_transaction_index,
    encode_offset_index,
    encode_time_index,
    encode_transaction_index,
)

int64s = st.integers(-(2**63), 2**63 - 1)
BASE = 1_000
rising = st.lists(st.integers(1, 2**31 - 1), unique=True, max_size=20).map(sorted)


def test_offset_index_of_kafka() -> None:
    """Of each indexed batch the last offset, relative to the segment, and the position."""
    content = bytes.fromhex("0000000a 00000277 00000015 0000053c")

    entries = [OffsetIndexEntry(BASE + 10, 631), OffsetIndexEntry(BASE + 21, 1340)]
    assert decode_offset_index(content, BASE) == entries
    assert encode_offset_index(entries, BASE) == content


def test_time_index_of_kafka() -> None:
    """Of each indexed batch the largest timestamp so far and the offset that it came with."""
    content = bytes.fromhex("000001a21eb21202 0000000a 000001a21eb2122e 00000015")

    entries = [TimeIndexEntry(1795811316226, BASE + 10), TimeIndexEntry(1795811316270, BASE + 21)]
    assert decode_time_index(content, BASE) == entries
    assert encode_time_index(entries, BASE) == content


def test_transaction_index_of_kafka() -> None:
    """Of each aborted transaction the producer, the first offset, the marker and the last stable offset after it."""
    content = bytes.fromhex("0000 0000000000000000 0000000000000016 0000000000000020 0000000000000021")

    assert decode_transaction_index(content) == [TransactionIndexEntry(0, 22, 32, 33)]
    assert encode_transaction_index([TransactionIndexEntry(0, 22, 32, 33)]) == content


@given(rising, rising, st.integers(0, 5))
def test_indexes_survive(offsets: list[int], positions: list[int], reserved: int) -> None:
    """What was written is read, whatever room is reserved after it."""
    count = min(len(offsets), len(positions))
    by_offset = [OffsetIndexEntry(BASE + offsets[n], positions[n]) for n in range(count)]
    by_time = [TimeIndexEntry(positions[n], BASE + offsets[n]) for n in range(count)]

    assert decode_offset_index(encode_offset_index(by_offset, BASE) + bytes(8 * reserved), BASE) == by_offset
    assert decode_time_index(encode_time_index(by_time, BASE) + bytes(12 * reserved), BASE) == by_time


@given(st.lists(st.builds(TransactionIndexEntry, int64s, int64s, int64s, int64s), max_size=5))
def test_transactions_survive(entries: list[TransactionIndexEntry]) -> None:
    """What was written is read."""
    assert decode_transaction_index(encode_transaction_index(entries)) == entries


def test_entries_out_of_order() -> None:
    """Indexes whose entries do not rise are damaged."""
    with pytest.raises(WireError, match="not in order"):
        decode_offset_index(bytes.fromhex("0000000a 00000277 0000000a 0000053c"), BASE)
    with pytest.raises(WireError, match="not in order"):
        decode_time_index(bytes.fromhex("000001a21eb2122e 0000000a 000001a21eb21202 00000015"), BASE)


def test_newer_version() -> None:
    """A transaction index of a later version is refused."""
    with pytest.raises(WireError, match="version 1; only version 0"):
        decode_transaction_index(b"\0\1" + bytes(32))


@given(st.binary(max_size=80))
def test_any_bytes(content: bytes) -> None:
    """Whatever is in the files: entries, or WireError."""
    for decode in (lambda: decode_offset_index(content, 0), lambda: decode_time_index(content, 0)):
        with suppress(WireError):
            decode()
    with suppress(WireError):
        decode_transaction_index(content)
