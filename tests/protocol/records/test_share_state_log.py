"""Records of `__share_group_state`: the bytes Kafka writes, and what is read from them."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.records.share_state_log import (
    ShareStateEntry,
    read_share_state,
    share_state_key,
    share_state_value,
)
from fakebroker.protocol.records.share_state_schema import ShareSnapshotValue, ShareUpdateValue, StateBatch

TOPIC_ID = bytes(range(16))
ID = TOPIC_ID.hex()
BATCH = StateBatch(first_offset=3, last_offset=5, delivery_state=2, delivery_count=1)
SNAPSHOT = ShareSnapshotValue(
    snapshot_epoch=1,
    state_epoch=2,
    leader_epoch=3,
    start_offset=4,
    delivery_complete_count=5,
    create_timestamp=6,
    write_timestamp=7,
    state_batches=[BATCH],
)
UPDATE = ShareUpdateValue(snapshot_epoch=1, leader_epoch=3, start_offset=-1, state_batches=[BATCH])

int32s = st.integers(-(2**31), 2**31 - 1)
int64s = st.integers(-(2**63), 2**63 - 1)
batches = st.lists(
    st.builds(
        StateBatch,
        first_offset=int64s,
        last_offset=int64s,
        delivery_state=st.integers(-128, 127),
        delivery_count=st.integers(-(2**15), 2**15 - 1),
    ),
    max_size=5,
)
snapshots = st.builds(
    ShareSnapshotValue,
    snapshot_epoch=int32s,
    state_epoch=int32s,
    leader_epoch=int32s,
    start_offset=int64s,
    delivery_complete_count=int32s,
    create_timestamp=int64s,
    write_timestamp=int64s,
    state_batches=batches,
)
updates = st.builds(
    ShareUpdateValue,
    snapshot_epoch=int32s,
    leader_epoch=int32s,
    start_offset=int64s,
    delivery_complete_count=int32s,
    state_batches=batches,
)
entries = st.builds(
    ShareStateEntry,
    st.text(st.characters(codec="utf-8"), max_size=12),
    st.binary(min_size=16, max_size=16),
    int32s,
    st.one_of(st.none(), snapshots, updates),
)


@pytest.mark.rules("SGB-2")
@pytest.mark.parametrize(("value", "kind"), [(None, 0), (SNAPSHOT, 0), (UPDATE, 1)])
def test_key(value: ShareSnapshotValue | ShareUpdateValue | None, kind: int) -> None:
    """The key is the type, group, topic id and partition; a tombstone is one of a snapshot."""
    key = share_state_key(ShareStateEntry("sg", TOPIC_ID, 7, value))

    assert key == bytes.fromhex(f"{kind:04x} 0002 7367 {ID} 00000007")


@pytest.mark.rules("SGB-3")
def test_value_of_a_snapshot() -> None:
    """Version 0 is flexible: the count of finished records is in tagged field 0."""
    assert share_state_value(ShareStateEntry("sg", TOPIC_ID, 7, SNAPSHOT)) == bytes.fromhex(
        "0000 00000001 00000002 00000003 0000000000000004 0000000000000006 0000000000000007"
        "02 0000000000000003 0000000000000005 02 0001 00"
        "01 00 04 00000005"
    )


@pytest.mark.rules("SGB-3")
def test_value_of_an_update() -> None:
    """It has no state epoch and no times; an unknown count is left out."""
    assert share_state_value(ShareStateEntry("sg", TOPIC_ID, 7, UPDATE)) == bytes.fromhex(
        "0000 00000001 00000003 ffffffffffffffff 02 0000000000000003 0000000000000005 02 0001 00 00"
    )


@given(entries)
def test_what_is_written_is_read(entry: ShareStateEntry) -> None:
    """Key and value of any entry are read as that entry."""
    assert read_share_state(share_state_key(entry), share_state_value(entry)) == entry


def test_records_of_a_later_release_are_passed_over() -> None:
    """A key of an unknown type says nothing, as Kafka decides."""
    assert read_share_state(bytes.fromhex("0002 00"), None) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b""),
        (b"\x00", None),
        (b"\xff\xff", None),
        (share_state_key(ShareStateEntry("g", TOPIC_ID, 0, UPDATE)), None),
    ],
)
def test_what_cannot_be_read_is_refused(key: bytes | None, value: bytes | None) -> None:
    """No key, no whole type, a negative one, and an update without a value."""
    with pytest.raises(WireError, match="__share_group_state"):
        read_share_state(key, value)


@given(st.binary(max_size=60), st.one_of(st.none(), st.binary(max_size=80)))
def test_garbage_never_raises_anything_else(key: bytes, value: bytes | None) -> None:
    """Any bytes are read or refused with WireError."""
    with suppress(WireError):
        read_share_state(key, value)
