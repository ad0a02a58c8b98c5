"""Records of `__consumer_offsets` that are values until the log is fetched or measured, and become bytes then.

Each class is the records of one write, which form one batch (CR-14). The log keeps the object and calls `records()`
when it needs bytes; the tuples inside are those of the cache, so a committed offset is kept once.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from fakebroker.broker.core.logs.pending_batches import DeferredRecords, Pair
from fakebroker.protocol.errors import MAX_TOPIC_CHARS
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.batch_format import HEADER_BYTES
from fakebroker.protocol.records.offsets_codec import Format, group_key, group_value, offset_keys, offset_value
from fakebroker.protocol.records.offsets_topic import (
    METADATA,
    PARTITION,
    TOPIC,
    GroupEntry,
    GroupValue,
    MemberValue,
    StoredOffset,
)
from fakebroker.protocol.records.record_codec import Record

if TYPE_CHECKING:
    from fakebroker.broker.core.offsets.group_offsets import GroupOffsets
    from fakebroker.protocol.records.group_records import GroupRecord

_NOTHING: Final[dict[int, StoredOffset]] = {}
_ROOM_BYTES = 1024  # more than everything else in a batch with one group
_LONGEST_RECORD_HEAD = 32  # bytes of a record beside key and value
# What values take in CPython 3.11, measured: they need to be right on the average only, and the same everywhere.
_WRITE_BYTES = 380
_OFFSET_BYTES = 170
_PARTITION_BYTES = 70
_MEMBER_BYTES = 240
_PAIR_BYTES = 150  # key and value as bytes, without their content
_TEXT_BYTES = 49


class LatestRecords(Protocol):
    """What the latest records of a partition say, as far as it matters for tombstones."""

    def has_offset(self, group_id: str, topic: str, partition: int) -> bool:
        """Whether an offset is stored, so that every tombstone for it is older than its record."""

    def has_group_record(self, group_id: str) -> bool:
        """Whether the latest record of the group itself is no tombstone."""


def _text_bytes(text: str) -> int:
    return len(text) if text.isascii() else 4 * len(text)


def _metadata_bytes(offsets: Sequence[StoredOffset]) -> int:
    return sum([_text_bytes(each[METADATA]) + _TEXT_BYTES for each in offsets if each[METADATA]])


def _texts(member: MemberValue) -> tuple[str, ...]:
    return member.member_id, member.group_instance_id or "", member.client_id, member.client_host


def _member_bytes(member: MemberValue) -> int:
    texts_bytes = sum(map(_text_bytes, _texts(member)))
    return _MEMBER_BYTES + texts_bytes + len(member.subscription) + len(member.assignment)


def _longest_bytes(member: MemberValue) -> int:
    """An upper bound of what a stored member takes: a character is at most four bytes."""
    return 4 * sum(map(len, _texts(member))) + len(member.subscription) + len(member.assignment) + 64


def _pair(entry: "GroupRecord | GroupEntry", record_format: Format) -> Pair:
    if not isinstance(entry, GroupEntry):
        return entry.encode()
    return group_key(entry.group_id), None if entry.value is None else group_value(entry.value, record_format)


def _batch_size(pairs: Sequence[Pair]) -> int:
    return len(build_batch([Record(n, 0, key, value, ()) for n, (key, value) in enumerate(pairs)]))


class OffsetCommits:
    """The records of one OffsetCommit."""

    __slots__ = ("_cache", "_format", "group_id", "offsets")

    def __init__(
        self, group_id: str, offsets: Sequence[StoredOffset], record_format: Format, cache: "GroupOffsets"
    ) -> None:
        self.group_id = group_id
        self.offsets = offsets
        self._format = record_format
        self._cache = cache

    def __len__(self) -> int:
        return len(self.offsets)

    def records(self) -> list[Pair]:
        """Keys and values as bytes."""
        keys, record_format = offset_keys(self.group_id, self.offsets), self._format
        return [(key, offset_value(stored, record_format)) for key, stored in zip(keys, self.offsets, strict=True)]

    def is_larger_than(self, limit_bytes: int) -> bool:
        """Whether the batch would be larger. It is built only if an upper bound from the values is too large."""
        names = MAX_TOPIC_CHARS + len(self.group_id)
        longest = len(self.offsets) * (4 * names + 64) + 4 * sum([len(stored[METADATA]) for stored in self.offsets])
        return longest + _ROOM_BYTES > limit_bytes and self.size_bytes() > limit_bytes

    def size_bytes(self) -> int:
        """The size of the batch, which is built to know it."""
        return _batch_size(self.records())

    def memory_bytes(self) -> int:
        """Roughly the memory that the write takes."""
        offsets = self.offsets
        size_bytes = _WRITE_BYTES + _OFFSET_BYTES * len(offsets)
        for stored in offsets:
            if stored[METADATA]:
                return size_bytes + _metadata_bytes(offsets)
        return size_bytes

    def all_overwritten(self) -> bool:
        """Whether later records replaced all of them: the cache has none of these very tuples any more."""
        topics = self._cache.topics
        name, partitions = "", _NOTHING
        for stored in self.offsets:
            if stored[TOPIC] != name:
                name = stored[TOPIC]
                partitions = topics.get(name, _NOTHING)
            if partitions.get(stored[PARTITION]) is stored:
                return False
        return True


class ClassicGroupRecord:
    """The record of one group. `latest` says at which offset of the log each group's latest record is."""

    __slots__ = ("_format", "_latest", "group_id", "offset", "value")

    def __init__(
        self, group_id: str, value: GroupValue, record_format: Format, offset: int, latest: Mapping[str, int]
    ) -> None:
        self.group_id = group_id
        self.value = value
        self.offset = offset
        self._format = record_format
        self._latest = latest

    def __len__(self) -> int:
        return 1

    def records(self) -> list[Pair]:
        """Key and value as bytes."""
        return [(group_key(self.group_id), group_value(self.value, self._format))]

    def is_larger_than(self, limit_bytes: int) -> bool:
        """Whether the batch with this record would be larger. It is built only if an upper bound is too large."""
        longest = sum(map(_longest_bytes, self.value.members)) + 4 * len(self.group_id) + _ROOM_BYTES
        return longest > limit_bytes and _batch_size(self.records()) > limit_bytes

    def memory_bytes(self) -> int:
        """Roughly the memory that the write takes."""
        return _WRITE_BYTES + sum(map(_member_bytes, self.value.members))

    def all_overwritten(self) -> bool:
        """Whether a later record of the group was written, or its tombstone."""
        return self._latest.get(self.group_id) != self.offset


class Tombstones:
    """Tombstones of deleted or expired offsets of a group, and of the group with `whole_group` (EX-8, EX-10, CR-14).

    Each entry of `deleted` is a tuple that begins with topic and partition: a TopicPartition or the offset itself.
    Without `latest` they stay until the log's cleaner removes them.
    """

    __slots__ = ("_latest", "deleted", "group_id", "whole_group")

    def __init__(
        self,
        group_id: str,
        deleted: Sequence[tuple[str, int] | StoredOffset],
        whole_group: bool = False,
        latest: LatestRecords | None = None,
    ) -> None:
        self.group_id = group_id
        self.deleted = deleted
        self.whole_group = whole_group
        self._latest = latest

    def __len__(self) -> int:
        return len(self.deleted) + self.whole_group

    def records(self) -> list[Pair]:
        """Keys as bytes, values null."""
        pairs: list[Pair] = [(key, None) for key in offset_keys(self.group_id, self.deleted)]
        if self.whole_group:
            pairs.append((group_key(self.group_id), None))
        return pairs

    def memory_bytes(self) -> int:
        """Roughly the memory that the write takes; expired offsets are not shared with the cache any more."""
        size_bytes = _WRITE_BYTES
        for each in self.deleted:
            size_bytes += _PARTITION_BYTES if len(each) == 2 else _OFFSET_BYTES
            if len(each) > 2 and each[METADATA]:
                size_bytes += _text_bytes(each[METADATA]) + _TEXT_BYTES
        return size_bytes

    def all_overwritten(self) -> bool:
        """Whether everything that was deleted is stored again, by later records."""
        latest = self._latest
        if latest is None or (self.whole_group and not latest.has_group_record(self.group_id)):
            return False
        return all(latest.has_offset(self.group_id, each[TOPIC], each[PARTITION]) for each in self.deleted)


class GroupRecords:
    """Records of one step of a consumer, share or streams group, and of a classic group that becomes one of those.

    They are encoded at once, since their length has to be known: as values they would take many times as much, an
    assignment of 80,000 partitions 4.5 MB.
    """

    __slots__ = ("_pairs", "_pairs_bytes")

    def __init__(self, entries: "Sequence[GroupRecord | GroupEntry]", record_format: Format) -> None:
        self._pairs = [_pair(entry, record_format) for entry in entries]
        self._pairs_bytes = sum([len(key or b"") + len(value or b"") for key, value in self._pairs])

    def __len__(self) -> int:
        return len(self._pairs)

    def records(self) -> list[Pair]:
        """Keys and values as bytes."""
        return self._pairs

    def is_larger_than(self, limit_bytes: int) -> bool:
        """Whether the batch would be larger. It is built only if it may be."""
        longest = self._pairs_bytes + _LONGEST_RECORD_HEAD * len(self._pairs) + HEADER_BYTES
        return longest > limit_bytes and _batch_size(self._pairs) > limit_bytes

    def memory_bytes(self) -> int:
        """Roughly the memory that they take."""
        return _WRITE_BYTES + _PAIR_BYTES * len(self._pairs) + self._pairs_bytes

    def all_overwritten(self) -> bool:
        """Nobody keeps count of these: they stay until the log is compacted."""
        return False


class Several:
    """Writes that go into one batch together: a cleanup's."""

    __slots__ = ("_count", "writes")

    def __init__(self, writes: Sequence[DeferredRecords]) -> None:
        self.writes = writes
        self._count = sum(map(len, writes))

    def __len__(self) -> int:
        return self._count

    def records(self) -> list[Pair]:
        """The records of all of them, in order."""
        return [pair for write in self.writes for pair in write.records()]

    def memory_bytes(self) -> int:
        """Roughly the memory that they take."""
        return sum(write.memory_bytes() for write in self.writes)

    def all_overwritten(self) -> bool:
        """Whether each of them is."""
        return all(write.all_overwritten() for write in self.writes)
