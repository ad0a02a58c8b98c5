"""Checkpoint files: the text that Kafka 4.3.1 wrote, and what is read from it."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.storage.checkpoints import (
    decode_leader_epochs,
    decode_offsets,
    encode_leader_epochs,
    encode_offsets,
)
from fakebroker.protocol.storage.names import PartitionFolder

KAFKA = b"0\n2\n__consumer_offsets 0 0\norders 1 66\n"
OFFSETS = {PartitionFolder("__consumer_offsets", 0): 0, PartitionFolder("orders", 1): 66}
int64s = st.integers(0, 2**63 - 1)


def test_offsets_of_kafka() -> None:
    """An offset for each partition."""
    assert decode_offsets(KAFKA, "the file") == OFFSETS
    assert encode_offsets(OFFSETS) == KAFKA
    assert decode_offsets(b"", "the file") == {}


@given(st.lists(st.tuples(st.integers(0, 2**31 - 1), int64s), max_size=5))
def test_leader_epochs_survive(entries: list[tuple[int, int]]) -> None:
    """What was written is read."""
    assert decode_leader_epochs(encode_leader_epochs(entries), "the file") == entries


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        (b"1\n0\n", "the file has version '1'; only version 0"),
        (b"0\n", "cut off: it does not name the number of its entries"),
        (b"0\n2\na 0 1\n", "cut off: it has 1 entries, but names 2"),
        (b"0\n1\na 0\n", "2 fields instead of 3"),
        (b"0\n1\na 0 x\n", "'x' in the line 'a 0 x' is not a number"),
        (b"0\nx\n", "is not a number"),
        (b"\xff\n", "it is not text"),
    ],
)
def test_damaged_checkpoints(content: bytes, wrong: str) -> None:
    """A file that is newer, cut off or changed is refused by its name."""
    with pytest.raises(WireError, match=wrong):
        decode_offsets(content, "the file")


@given(st.binary(max_size=60))
def test_any_bytes(content: bytes) -> None:
    """Whatever is in the file: entries, or WireError."""
    with suppress(WireError):
        decode_offsets(content, "the file")
    with suppress(WireError):
        decode_leader_epochs(b"0\n1\n" + content, "the file")
