"""Records of `__consumer_offsets` as bytes: every version is read, the release's version is written (CR-4..CR-8)."""

from collections.abc import Iterable
from functools import lru_cache
from struct import Struct
from typing import Final, NamedTuple

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.records.batch_format import NO_TIMESTAMP
from fakebroker.protocol.records.offsets_schema import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from fakebroker.protocol.records.offsets_topic import (
    PARTITION,
    TOPIC,
    Entry,
    GroupEntry,
    GroupValue,
    MemberValue,
    OffsetEntry,
    StoredOffset,
    stored_offset,
)

_INT16, _INT64 = Struct(">h"), Struct(">q")
_MARK: Final = 0x7F6E5D4C3B2A1908  # a number that no other field's bytes look like
_OFFSET_KEY: Final = 1
_GROUP_KEY: Final = 2
_NO_GROUP: Final = bytes(4)  # as long as what precedes the topic where the group has no name: version, length
_EXPLICIT_RETENTION: Final = 1  # the one value version that holds an expire timestamp


class Format(NamedTuple):
    """Which value versions are written."""

    offset_version: int = 4
    group_version: int = 3


def offset_key(group_id: str, topic: str, partition: int) -> bytes:
    """The key of a committed offset (CR-3)."""
    return _INT16.pack(_OFFSET_KEY) + OffsetCommitKey(group=group_id, topic=topic, partition=partition).encode(0)


def offset_keys(group_id: str, offsets: Iterable[tuple[str, int] | StoredOffset]) -> list[bytes]:
    """The keys of several offsets of one group. Each entry is a tuple that begins with topic and partition."""
    end = len(_after_group("", 0))
    group = offset_key(group_id, "", 0)[:-end]
    return [group + _after_group(each[TOPIC], each[PARTITION]) for each in offsets]


@lru_cache(maxsize=10_000)
def _after_group(topic: str, partition: int) -> bytes:
    """What follows the group in the key of an offset: many groups commit offsets of the same partitions."""
    return offset_key("", topic, partition)[len(_NO_GROUP) :]


def offset_value(stored: StoredOffset, record_format: Format) -> bytes:
    """The value of a committed offset; v1 if it expires by itself (CR-5)."""
    _, _, offset, leader_epoch, metadata, commit_ms, expire_ms, topic_id = stored
    version = record_format.offset_version if expire_ms == NO_TIMESTAMP else _EXPLICIT_RETENTION
    if not metadata and expire_ms == NO_TIMESTAMP:
        before, between, behind = _around_numbers(version, leader_epoch, topic_id)
        return before + _INT64.pack(offset) + between + _INT64.pack(commit_ms) + behind
    return _INT16.pack(version) + OffsetCommitValue(
        offset=offset,
        leader_epoch=leader_epoch,
        metadata=metadata,
        commit_timestamp=commit_ms,
        expire_timestamp=expire_ms,
        topic_id=topic_id,
    ).encode(version)


@lru_cache(maxsize=10_000)
def _around_numbers(version: int, leader_epoch: int, topic_id: bytes) -> tuple[bytes, bytes, bytes]:
    """What stands before, between and behind offset and commit timestamp where there is no metadata, as for most."""
    value = OffsetCommitValue(
        offset=_MARK, leader_epoch=leader_epoch, metadata="", commit_timestamp=_MARK, topic_id=topic_id
    )
    before, between, behind = value.encode(version).split(_INT64.pack(_MARK), 2)
    return _INT16.pack(version) + before, between, behind


def group_key(group_id: str) -> bytes:
    """The key of a group (CR-7)."""
    return _INT16.pack(_GROUP_KEY) + GroupMetadataKey(group=group_id).encode(0)


def group_value(value: GroupValue, record_format: Format) -> bytes:
    """The value of a group (CR-7, CR-8)."""
    version = record_format.group_version
    return _INT16.pack(version) + GroupMetadataValue(
        protocol_type=value.protocol_type,
        generation=value.generation,
        protocol=value.protocol,
        leader=value.leader,
        current_state_timestamp=value.state_ms,
        members=list(value.members),
    ).encode(version)


def read_entry(key: bytes | None, value: bytes | None) -> "Entry | None":
    """What a record says; None for a key of a type unknown here. Raises WireError if unreadable (LD-5)."""
    if key is None:
        raise WireError("a record of __consumer_offsets has no key")
    key_version = _version(key, "key")
    if key_version <= _OFFSET_KEY:
        decoded, _ = OffsetCommitKey.decode(key, 0, 2)
        committed = None if value is None else _read_offset(decoded.topic, decoded.partition, value)
        return OffsetEntry(decoded.group, decoded.topic, decoded.partition, committed)
    if key_version == _GROUP_KEY:
        group_id = GroupMetadataKey.decode(key, 0, 2)[0].group
        return GroupEntry(group_id, None if value is None else _read_group(value))
    from fakebroker.protocol.records.group_records import read_group_record  # layouts that most logs have no use for

    return read_group_record(key, value)


def _read_offset(topic: str, partition: int, data: bytes) -> StoredOffset:
    value, _ = OffsetCommitValue.decode(data, _version(data, "value"), 2)
    return stored_offset(
        topic,
        partition,
        value.offset,
        leader_epoch=value.leader_epoch,
        metadata=value.metadata,
        commit_ms=value.commit_timestamp,
        expire_ms=value.expire_timestamp,
        topic_id=value.topic_id,
    )


def _read_group(data: bytes) -> GroupValue:
    value, _ = GroupMetadataValue.decode(data, _version(data, "value"), 2)
    return GroupValue(
        value.protocol_type,
        value.generation,
        value.protocol,
        value.leader,
        value.current_state_timestamp,
        tuple(map(_read_member, value.members)),
    )


def _read_member(row: tuple[str, str | None, str, str, int, int, bytes, bytes]) -> MemberValue:
    member = MemberValue._make(row)
    if member.rebalance_timeout_ms < 0:
        return member._replace(rebalance_timeout_ms=member.session_timeout_ms)  # CR-10
    return member


def _version(data: bytes, what: str) -> int:
    if len(data) < _INT16.size:
        raise WireError(f"the {what} of a record of __consumer_offsets is too short for a version: {len(data)} bytes")
    version: int = _INT16.unpack_from(data)[0]
    if version < 0:
        raise WireError(f"the {what} of a record of __consumer_offsets has an unknown version: {version}")
    return version
