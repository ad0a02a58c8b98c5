"""The committed offsets of one group: a cache of the last record per partition, filled only by replay (LD-2).

A committed offset is one tuple, shared with the log. Transactional commits wait beside the cache until the marker of
their transaction is replayed.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from fakebroker.core.offsets.pending import PendingOffsets
from fakebroker.records.offsets_topic import CommittedOffset, StoredOffset

NEVER: Final = 1 << 63  # later than every time that fits into a record
_NOTHING: Final[dict[int, StoredOffset]] = {}


class GroupOffsets:
    """Committed and pending offsets of one group.

    `topics` keeps topics, and partitions within a topic, in the order of their first commit. `check_ms` is the place
    of the group in the expiry queue: nothing of it can be due before that.
    """

    __slots__ = ("check_ms", "pending", "topics")

    def __init__(self) -> None:
        self.topics: dict[str, dict[int, StoredOffset]] = {}
        self.pending: PendingOffsets | None = None  # made by the first transactional commit
        self.check_ms = NEVER

    # -- replay: the only way in ---------------------------------------------------------------------------------

    def replay(self, offsets: Sequence[StoredOffset], base_offset: int = 0) -> None:
        """Apply records of plain commits in log order, the first at `base_offset`: the last per partition wins."""
        topics = self.topics
        name: str | None = None
        partitions: dict[int, StoredOffset] = {}
        for stored in offsets:
            if stored[0] != name:
                name = stored[0]
                partitions = topics.setdefault(name, {})
            partitions[stored[1]] = stored
        if self.pending:
            for log_offset, stored in enumerate(offsets, base_offset):
                self.pending.supersede(stored[0], stored[1], log_offset)

    def replay_tombstones(self, places: Iterable[tuple[str, int] | StoredOffset]) -> None:
        """Apply tombstones: what is stored and pending for these partitions is gone (OD-7, CR-18)."""
        topics = self.topics
        for place in places:
            topic, partition = place[0], place[1]
            partitions = topics.get(topic)
            if partitions is not None and partitions.pop(partition, None) is not None and not partitions:
                del topics[topic]
            if self.pending:
                self.pending.drop(topic, partition)

    def replay_pending(self, producer_id: int, offsets: Sequence[StoredOffset], base_offset: int) -> None:
        """Apply records of a transactional commit: they wait for their marker (OC-16)."""
        if self.pending is None:
            self.pending = PendingOffsets()
        self.pending.add(producer_id, offsets, base_offset)

    def replay_marker(self, producer_id: int, commit: bool) -> None:
        """Apply the end of a transaction (LD-2): its pending offsets count, or never were."""
        if self.pending:
            for stored in self.pending.complete(producer_id, commit):
                self.topics.setdefault(stored[0], {})[stored[1]] = stored

    # -- reading -------------------------------------------------------------------------------------------------

    def get(self, topic: str, partition: int) -> CommittedOffset | None:
        """The committed offset of a partition, or None."""
        stored = self.topics.get(topic, _NOTHING).get(partition)
        return None if stored is None else CommittedOffset._make(stored)

    def is_pending(self, topic: str, partition: int) -> bool:
        """Does an open transaction hold an offset of the partition (OF-9, EX-4)?"""
        return bool(self.pending) and self.pending is not None and self.pending.has(topic, partition)

    def is_empty(self) -> bool:
        """Is nothing stored and nothing pending (EX-9)?"""
        return not self.topics and not self.pending

    def __iter__(self) -> Iterator[StoredOffset]:
        for partitions in self.topics.values():
            yield from partitions.values()

    def __len__(self) -> int:
        return sum(map(len, self.topics.values()))
