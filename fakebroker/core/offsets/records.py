"""Records on their way to `__consumer_offsets`: values now, bytes when somebody fetches or measures.

Each class is the records of one write, which form one batch (CR-14). The log keeps the object and asks for `records()`
when it needs bytes; the tuples inside are those of the cache, so a commit is stored once.
"""

from collections.abc import Sequence
from typing import Final

from fakebroker.core.offsets.group_offsets import GroupOffsets
from fakebroker.records.batch import build_batch
from fakebroker.records.offsets_codec import Format, group_key, group_value, offset_key, offset_value
from fakebroker.records.offsets_topic import METADATA, PARTITION, TOPIC, GroupValue, MemberValue, StoredOffset
from fakebroker.records.record_codec import Record

_NOTHING: Final[dict[int, StoredOffset]] = {}
Pair = tuple[bytes | None, bytes | None]
_ROOM_BYTES = 1024  # more than everything else in a batch with one group
_LONGEST_TOPIC = 249  # characters


def _longest_bytes(member: MemberValue) -> int:
    """No less than a stored member takes: a character is at most four bytes."""
    texts = (member.member_id, member.group_instance_id or "", member.client_id, member.client_host)
    return 4 * sum(map(len, texts)) + len(member.subscription) + len(member.assignment) + 64


def _batch_size(pairs: Sequence[Pair]) -> int:
    return len(build_batch([Record(n, 0, key, value, ()) for n, (key, value) in enumerate(pairs)]))


class OffsetCommits:
    """The records of one OffsetCommit."""

    __slots__ = ("_cache", "_format", "group_id", "offsets")

    def __init__(
        self, group_id: str, offsets: Sequence[StoredOffset], record_format: Format, cache: GroupOffsets
    ) -> None:
        self.group_id = group_id
        self.offsets = offsets
        self._format = record_format
        self._cache = cache

    def __len__(self) -> int:
        return len(self.offsets)

    def records(self) -> list[Pair]:
        """Keys and values as bytes."""
        return [
            (offset_key(self.group_id, stored[TOPIC], stored[PARTITION]), offset_value(stored, self._format))
            for stored in self.offsets
        ]

    def is_larger_than(self, limit_bytes: int) -> bool:
        """Whether the batch would be. It is made only if a look at the values leaves doubt."""
        names = _LONGEST_TOPIC + len(self.group_id)
        longest = len(self.offsets) * (4 * names + 64) + 4 * sum([len(stored[METADATA]) for stored in self.offsets])
        return longest + _ROOM_BYTES > limit_bytes and _batch_size(self.records()) > limit_bytes

    def is_superseded(self) -> bool:
        """Whether none of them is the group's offset any more. The cache shares the tuples, so a look is enough."""
        topics = self._cache.topics
        name, partitions = "", _NOTHING
        for stored in self.offsets:
            if stored[TOPIC] != name:
                name = stored[TOPIC]
                partitions = topics.get(name, _NOTHING)
            if partitions.get(stored[PARTITION]) is stored:
                return False
        return True


class GroupRecord:
    """The record of one group."""

    __slots__ = ("_format", "group_id", "value")

    def __init__(self, group_id: str, value: GroupValue, record_format: Format) -> None:
        self.group_id = group_id
        self.value = value
        self._format = record_format

    def __len__(self) -> int:
        return 1

    def records(self) -> list[Pair]:
        """Key and value as bytes."""
        return [(group_key(self.group_id), group_value(self.value, self._format))]

    def is_larger_than(self, limit_bytes: int) -> bool:
        """Whether the batch with this record would be. It is made only if a look at the values leaves doubt."""
        longest = sum(map(_longest_bytes, self.value.members)) + 4 * len(self.group_id) + _ROOM_BYTES
        return longest > limit_bytes and _batch_size(self.records()) > limit_bytes

    def is_superseded(self) -> bool:
        """Nobody has looked; groups are written seldom."""
        return False


class Tombstones:
    """Tombstones of deleted or expired offsets of a group, and of the group with `whole_group` (EX-8, EX-10, CR-14).

    Each entry of `deleted` is a tuple that begins with topic and partition: a TopicPartition or the offset itself.
    """

    __slots__ = ("deleted", "group_id", "whole_group")

    def __init__(
        self, group_id: str, deleted: Sequence[tuple[str, int] | StoredOffset], whole_group: bool = False
    ) -> None:
        self.group_id = group_id
        self.deleted = deleted
        self.whole_group = whole_group

    def __len__(self) -> int:
        return len(self.deleted) + self.whole_group

    def records(self) -> list[Pair]:
        """Keys as bytes, values null."""
        pairs: list[Pair] = [(offset_key(self.group_id, each[TOPIC], each[PARTITION]), None) for each in self.deleted]
        if self.whole_group:
            pairs.append((group_key(self.group_id), None))
        return pairs

    def is_superseded(self) -> bool:
        """Tombstones stay until the log's cleaner takes them."""
        return False


class Several:
    """Writes that go into one batch together: a cleanup's."""

    __slots__ = ("_count", "writes")

    def __init__(self, writes: Sequence[Tombstones]) -> None:
        self.writes = writes
        self._count = sum(map(len, writes))

    def __len__(self) -> int:
        return self._count

    def records(self) -> list[Pair]:
        """The records of all of them, in order."""
        return [pair for write in self.writes for pair in write.records()]

    def is_superseded(self) -> bool:
        """As for each of them."""
        return False
