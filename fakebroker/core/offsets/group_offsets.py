"""The committed offsets of one group: a cache of the last record of each partition, changed only by replay (LD-2).

A committed offset is one tuple, shared with the log's pending batches. Offsets committed in a transaction are kept
beside the cache until the transaction's end marker is replayed. Kafka: `OffsetMetadataManager`.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from fakebroker.core.offsets.pending import PendingOffsets
from fakebroker.records.offsets_topic import PARTITION, TOPIC, CommittedOffset, StoredOffset, TopicPartition

NEVER: Final = 1 << 63  # later than every time that fits into a record
_NOTHING: Final[dict[int, StoredOffset]] = {}


class GroupOffsets:
    """Committed and pending offsets of one group.

    `topics` keeps topics, and partitions within a topic, in the order of their first commit. `check_ms` is when the
    group's entry in the cleanup's queue comes up (`cleanup.py`): none of its offsets is due before that.
    """

    __slots__ = ("check_ms", "pending", "topics")

    def __init__(self) -> None:
        self.topics: dict[str, dict[int, StoredOffset]] = {}
        self.pending: PendingOffsets | None = None  # made by the first transactional commit
        self.check_ms = NEVER

    # -- replay: the only way to change it -----------------------------------------------------------------------

    def replay(self, offsets: Sequence[StoredOffset], base_offset: int = 0) -> None:
        """Apply records of plain commits in log order, the first at `base_offset`: the last per partition wins."""
        topics = self.topics
        name: str | None = None
        partitions: dict[int, StoredOffset] = {}
        for stored in offsets:
            if stored[TOPIC] != name:
                name = stored[TOPIC]
                partitions = topics.setdefault(name, {})
            partitions[stored[PARTITION]] = stored
        if self.pending:
            for log_offset, stored in enumerate(offsets, base_offset):
                self.pending.supersede(stored[TOPIC], stored[PARTITION], log_offset)

    def replay_tombstones(self, deleted: Iterable[tuple[str, int] | StoredOffset]) -> None:
        """Apply tombstones: nothing is stored or pending any more for these partitions (OD-7, CR-18).

        Each entry is a tuple that begins with topic and partition: a TopicPartition, or the deleted offset itself.
        """
        topics = self.topics
        for entry in deleted:
            topic, partition = entry[TOPIC], entry[PARTITION]
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

    def replay_end_transaction_marker(self, producer_id: int, commit: bool) -> None:
        """Apply the marker that ends a transaction (LD-2): its pending offsets become committed, or are dropped."""
        if self.pending:
            for stored in self.pending.complete(producer_id, commit):
                self.topics.setdefault(stored[TOPIC], {})[stored[PARTITION]] = stored

    # -- reading -------------------------------------------------------------------------------------------------

    def get(self, topic: str, partition: int) -> CommittedOffset | None:
        """The committed offset of a partition, or None."""
        stored = self.topics.get(topic, _NOTHING).get(partition)
        return None if stored is None else CommittedOffset._make(stored)

    def has(self, topic: str, partition: int) -> bool:
        """Whether an offset of the partition is stored or pending."""
        return partition in self.topics.get(topic, _NOTHING) or self.is_pending(topic, partition)

    def is_pending(self, topic: str, partition: int) -> bool:
        """Whether an open transaction has committed an offset of the partition (OF-9, EX-4)."""
        return bool(self.pending) and self.pending is not None and self.pending.has(topic, partition)

    def is_empty(self) -> bool:
        """Whether nothing is stored and nothing pending (EX-9)."""
        return not self.topics and not self.pending

    def partitions(self) -> list[TopicPartition]:
        """Every partition with a committed or a pending offset: committed ones first, each once."""
        found = dict.fromkeys(TopicPartition(each[TOPIC], each[PARTITION]) for each in self)
        if self.pending:
            found.update(dict.fromkeys(self.pending.partitions()))
        return list(found)

    def partitions_of(self, topic: str) -> list[TopicPartition]:
        """Those of `partitions()` that belong to one topic."""
        found = dict.fromkeys(TopicPartition(topic, index) for index in self.topics.get(topic, ()))
        if self.pending:
            found.update(dict.fromkeys(each for each in self.pending.partitions() if each.topic == topic))
        return list(found)

    def __iter__(self) -> Iterator[StoredOffset]:
        for partitions in self.topics.values():
            yield from partitions.values()

    def __len__(self) -> int:
        return sum(map(len, self.topics.values()))
