"""Records of `__consumer_offsets`: the bytes Kafka writes, and every version it ever wrote."""

from contextlib import suppress
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.records import offsets_codec
from fakebroker.protocol.records.offsets_codec import (
    Format,
    group_key,
    group_value,
    offset_key,
    offset_value,
    read_entry,
)
from fakebroker.protocol.records.offsets_schema import OffsetCommitValue
from fakebroker.protocol.records.offsets_topic import GroupEntry, GroupValue, MemberValue, OffsetEntry

TOPIC_ID = bytes(range(16))
TS, EXPIRE = 1_700_000_000_000, 1_700_000_060_000
TS_BYTES, EXPIRE_BYTES = pack(">q", TS), pack(">q", EXPIRE)
NO_ID = bytes(16)
KEY = bytes.fromhex("0001000167000174" + "00000000")
OLD = Format(offset_version=3)
MARK = pack(">q", offsets_codec._MARK)

texts = st.text(st.characters(codec="utf-8"), max_size=12)
int64s = st.integers(-(2**63), 2**63 - 1)
int32s = st.integers(-(2**31), 2**31 - 1)
topic_ids = st.binary(min_size=16, max_size=16)
members = st.builds(
    MemberValue, texts, st.none() | texts, texts, texts, st.integers(0, 2**31 - 1), int32s, st.binary(), st.binary()
)
groups = st.builds(
    GroupValue, texts, int32s, st.none() | texts, st.none() | texts, int64s, st.lists(members, max_size=3).map(tuple)
)


@pytest.mark.rules("CR-4", "CR-5")
@given(int64s, int32s, st.sampled_from(["", "", "m"]), int64s, topic_ids | st.just(MARK + MARK), st.integers(0, 4))
def test_values_are_as_their_schema_says(
    offset: int, leader_epoch: int, metadata: str, commit_ms: int, topic_id: bytes, version: int
) -> None:
    """A value without metadata, put together around its numbers, has the bytes that the schema gives."""
    whole = OffsetCommitValue(
        offset=offset, leader_epoch=leader_epoch, metadata=metadata, commit_timestamp=commit_ms, topic_id=topic_id
    )
    row = ("t", 0, offset, leader_epoch, metadata, commit_ms, -1, topic_id)
    assert offset_value(row, Format(offset_version=version)) == pack(">h", version) + whole.encode(version)


@pytest.mark.rules("CR-3", "CR-16")
def test_key_of_an_offset() -> None:
    """The key is version 1, then group, topic and partition."""
    assert offset_key("g", "t", 0) == KEY


@pytest.mark.rules("CR-4", "CR-5", "CR-16")
def test_value_with_the_topic_id() -> None:
    """4.3.1 writes version 4, the topic id in a tagged field."""
    value = offset_value(("t", 0, 5, -1, "m", TS, -1, TOPIC_ID), Format())

    assert value == bytes.fromhex("00040000000000000005ffffffff026d") + TS_BYTES + b"\x01\x00\x10" + TOPIC_ID


@pytest.mark.rules("CR-16", "OC-10")
def test_empty_metadata() -> None:
    """Metadata that was null is stored as empty."""
    value = offset_value(("t", 0, 5, -1, "", TS, -1, TOPIC_ID), Format())

    assert value[14:15] == b"\x01"


@pytest.mark.rules("CR-5", "CR-16")
def test_value_in_a_transaction() -> None:
    """Without a topic id the tagged section is empty, as TxnOffsetCommit writes it."""
    value = offset_value(("t", 0, 3, -1, "t", TS, -1, NO_ID), Format())

    assert value == bytes.fromhex("00040000000000000003ffffffff0274") + TS_BYTES + b"\x00"


@pytest.mark.rules("CR-4", "CR-5", "CR-16")
def test_value_with_an_expire_timestamp() -> None:
    """Explicit retention is stored as version 1, in every release."""
    stored = ("t", 0, 9, 4, "x", TS, EXPIRE, TOPIC_ID)
    expected = bytes.fromhex("00010000000000000009000178") + TS_BYTES + EXPIRE_BYTES

    assert offset_value(stored, Format()) == offset_value(stored, OLD) == expected


@pytest.mark.rules("CR-5", "CR-16")
def test_value_written_by_older_releases() -> None:
    """3.9.1 writes version 3, which has no topic id; before 2.1 it was version 1."""
    stored = ("t", 0, 9, 4, "x", TS, -1, TOPIC_ID)

    assert offset_value(stored, OLD) == bytes.fromhex("0003000000000000000900000004000178") + TS_BYTES
    assert offset_value(stored, Format(2)) == bytes.fromhex("00020000000000000009000178") + TS_BYTES


@pytest.mark.rules("CR-5", "CR-6")
def test_what_version_1_loses() -> None:
    """Leader epoch and topic id are not in version 1: they read back as none."""
    entry = read_entry(KEY, offset_value(("t", 0, 9, 4, "x", TS, EXPIRE, TOPIC_ID), Format()))

    assert entry == OffsetEntry("g", "t", 0, ("t", 0, 9, -1, "x", TS, EXPIRE, NO_ID))


@pytest.mark.rules("CR-3", "CR-4", "CR-6")
@pytest.mark.parametrize("key_version", [0, 1])
@pytest.mark.parametrize("version", range(5))
def test_every_version_of_an_offset_is_read(version: int, key_version: int) -> None:
    """Whatever a broker once wrote can be read, under both versions of the key; what it lacks is none."""
    stored = ("t", 0, 9, 4 if version >= 3 else -1, "x", TS, EXPIRE if version == 1 else -1, NO_ID)
    value = offset_value(stored, Format(version))

    assert value[:2] == pack(">h", version)
    assert read_entry(pack(">h", key_version) + KEY[2:], value) == OffsetEntry("g", "t", 0, stored)


@pytest.mark.rules("CR-4", "CR-6")
@pytest.mark.parametrize(
    ("value", "leader_epoch", "expire_ms", "topic_id"),
    [
        (b"\0\0" + pack(">q", 9) + b"\0\1x" + TS_BYTES, -1, -1, NO_ID),
        (b"\0\1" + pack(">q", 9) + b"\0\1x" + TS_BYTES + EXPIRE_BYTES, -1, EXPIRE, NO_ID),
        (b"\0\2" + pack(">q", 9) + b"\0\1x" + TS_BYTES, -1, -1, NO_ID),
        (b"\0\3" + pack(">qi", 9, 4) + b"\0\1x" + TS_BYTES, 4, -1, NO_ID),
        (b"\0\4" + pack(">qi", 9, 4) + b"\2x" + TS_BYTES + b"\0", 4, -1, NO_ID),
        (b"\0\4" + pack(">qi", 9, 4) + b"\2x" + TS_BYTES + b"\1\0\x10" + TOPIC_ID, 4, -1, TOPIC_ID),
    ],
)
def test_bytes_of_every_version_of_an_offset(value: bytes, leader_epoch: int, expire_ms: int, topic_id: bytes) -> None:
    """The layouts as Kafka declares them, byte for byte."""
    stored = ("t", 0, 9, leader_epoch, "x", TS, expire_ms, topic_id)

    assert read_entry(KEY, value) == OffsetEntry("g", "t", 0, stored)


@pytest.mark.rules("CR-7", "CR-17")
def test_key_of_a_group() -> None:
    """The key is version 2 and the group."""
    assert group_key("g") == bytes.fromhex("0002000167")


@pytest.mark.rules("CR-8", "CR-17")
def test_value_of_a_new_group() -> None:
    """A group that a JoinGroup made has no protocol type, leader, protocol or members."""
    value = group_value(GroupValue("", 0, None, None, TS, ()), Format())

    assert value == bytes.fromhex("0003000000000000ffffffff") + TS_BYTES + bytes(4)


@pytest.mark.rules("CR-7", "CR-17")
def test_value_of_an_emptied_group() -> None:
    """An emptied group keeps its protocol type and generation."""
    value = group_value(GroupValue("consumer", 3, None, None, TS, ()), Format())

    assert value == b"\x00\x03\x00\x08consumer\x00\x00\x00\x03\xff\xff\xff\xff" + TS_BYTES + bytes(4)


@pytest.mark.rules("CR-7", "CR-17")
def test_value_of_a_group_with_a_member() -> None:
    """Members follow in the order of CR-7, subscription and assignment with lengths of 32 bits."""
    member = MemberValue("m", None, "c", "/127.0.0.1", 300, 100, b"sub", b"as")
    value = group_value(GroupValue("consumer", 1, "range", "m", TS, (member,)), Format())

    assert value.endswith(
        pack(">i", 1) + b"\0\1m\xff\xff\0\1c\0\x0a/127.0.0.1" + pack(">ii", 300, 100) + b"\0\0\0\3sub\0\0\0\2as"
    )


@pytest.mark.rules("CR-7", "CR-8", "CR-10")
@pytest.mark.parametrize("version", range(5))
def test_every_version_of_a_group_is_read(version: int) -> None:
    """What a version lacks is unknown or none; a missing rebalance timeout is the session timeout."""
    member = MemberValue("m", "i" if version >= 3 else None, "c", "h", 300 if version >= 1 else 100, 100, b"s", b"a")
    group = GroupValue("consumer", 7, "range", "m", TS if version >= 2 else -1, (member,))

    assert read_entry(group_key("g"), group_value(group, Format(group_version=version))) == GroupEntry("g", group)


@pytest.mark.rules("CR-7", "CR-8", "CR-10", "CR-17")
@pytest.mark.parametrize("version", range(4))
def test_bytes_of_every_version_of_a_group(version: int) -> None:
    """The layouts as Kafka declares them, byte for byte: v1 rebalance timeout, v2 state timestamp, v3 instance id."""
    value = (
        pack(">h", version)
        + b"\0\1k\0\0\0\7\0\1p\0\1m"
        + (TS_BYTES if version >= 2 else b"")
        + b"\0\0\0\1\0\1m"
        + (b"\0\1i" if version >= 3 else b"")
        + b"\0\1c\0\1h"
        + (pack(">i", 300) if version >= 1 else b"")
        + pack(">i", 100)
        + b"\0\0\0\1s\0\0\0\1a"
    )
    instance, rebalance_timeout_ms = "i" if version >= 3 else None, 300 if version >= 1 else 100
    member = MemberValue("m", instance, "c", "h", rebalance_timeout_ms, 100, b"s", b"a")
    group = GroupValue("k", 7, "p", "m", TS if version >= 2 else -1, (member,))

    assert read_entry(group_key("g"), value) == GroupEntry("g", group)
    if version > 0:  # which has no place for the rebalance timeout
        assert group_value(group, Format(group_version=version)) == value


@pytest.mark.rules("CR-10")
def test_rebalance_timeout_of_minus_one() -> None:
    """A stored rebalance timeout of -1 reads as the session timeout, as if it were missing."""
    group = GroupValue("consumer", 7, "range", "m", TS, (MemberValue("m", None, "c", "h", -1, 100, b"", b""),))
    entry = read_entry(group_key("g"), group_value(group, Format()))

    assert isinstance(entry, GroupEntry)
    assert entry.value is not None
    assert entry.value.members[0].rebalance_timeout_ms == 100


@pytest.mark.rules("CR-11")
def test_tombstones() -> None:
    """A null value removes the offset, or the group."""
    assert read_entry(KEY, None) == OffsetEntry("g", "t", 0, None)
    assert read_entry(group_key("g"), None) == GroupEntry("g", None)


@pytest.mark.rules("CR-2", "LD-5", "CR-13")
@pytest.mark.parametrize("key_version", [9, 18, 24, 99])
def test_other_record_types_are_skipped(key_version: int) -> None:
    """Key versions that no release uses are no error, whatever their value (9 and 18 were used before a release)."""
    assert read_entry(pack(">h", key_version) + b"?", b"?") is None


@pytest.mark.rules("LD-5")
@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b""),
        (b"", b""),
        (b"\0", b""),
        (b"\xff\xff", b""),
        (KEY[:-1], b""),
        (KEY, b""),
        (KEY, b"\0"),
        (KEY, b"\0\4"),
        (KEY, b"\0\5" + bytes(40)),
        (KEY, b"\xff\xff" + bytes(40)),
        (group_key("g"), b"\0\5" + bytes(40)),
        (group_key("g"), b"\0\3\0\1"),
    ],
)
def test_unreadable_records(key: bytes | None, value: bytes) -> None:
    """An unknown value version, and bytes that end too early, say so."""
    with pytest.raises(WireError):
        read_entry(key, value)


@given(texts, texts, int32s, int64s, int32s, texts, int64s, int64s, topic_ids)
def test_an_offset_survives(
    group: str,
    topic: str,
    index: int,
    offset: int,
    epoch: int,
    metadata: str,
    commit: int,
    expire: int,
    topic_id: bytes,
) -> None:
    """What is written is what is read: in version 4, or in version 1 with an expire timestamp."""
    stored = (topic, index, offset, epoch, metadata, commit, expire, topic_id)
    kept = stored if expire == -1 else (topic, index, offset, -1, metadata, commit, expire, NO_ID)

    entry = read_entry(offset_key(group, topic, index), offset_value(stored, Format()))

    assert entry == OffsetEntry(group, topic, index, kept)


@given(texts, groups)
def test_a_group_survives(group_id: str, group: GroupValue) -> None:
    """What is written is what is read."""
    assert read_entry(group_key(group_id), group_value(group, Format())) == GroupEntry(group_id, group)


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_any_bytes(key: bytes, value: bytes) -> None:
    """Any bytes are a record, something else's record, or a WireError."""
    with suppress(WireError):
        read_entry(key, value)
