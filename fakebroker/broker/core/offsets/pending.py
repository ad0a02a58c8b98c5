"""Offsets committed in transactions that are still open (KIP-98, OC-16, LD-2).

They become committed offsets when a commit marker ends their transaction. The order of the records in the log decides:
a plain commit, or another transaction's, whose record comes after a pending one in the log replaces it (OC-18). Even
so the partition counts as unstable (KIP-447) until the marker is there (OF-9).
"""

from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import NamedTuple

from fakebroker.protocol.records.offsets_topic import PARTITION, TOPIC, StoredOffset, TopicPartition


class _Pending(NamedTuple):
    log_offset: int
    value: StoredOffset | None  # None: a later record has replaced it


class PendingOffsets:
    """The pending offsets of one group, by producer id and partition.

    A group may have very many transactions and partitions, so all ways are short: what a producer has, who has one of a
    partition, and whose of these still count.
    """

    __slots__ = ("_by_producer", "_counting", "_producers")

    def __init__(self) -> None:
        self._by_producer: dict[int, dict[TopicPartition, _Pending]] = {}
        self._producers: dict[str, dict[int, dict[int, None]]] = {}  # of each topic and partition
        self._counting: dict[TopicPartition, dict[int, int]] = {}  # those of no later record, in the order of the log

    def __bool__(self) -> bool:
        return bool(self._by_producer)

    def add(self, producer_id: int, offsets: Iterable[StoredOffset], base_offset: int) -> None:
        """Apply the records of a transactional commit; the first lies at `base_offset` of the log."""
        mine = self._by_producer.setdefault(producer_id, {})
        for log_offset, stored in enumerate(offsets, base_offset):
            key = TopicPartition(stored[TOPIC], stored[PARTITION])
            mine[key] = _Pending(log_offset, stored)
            self._producers.setdefault(key.topic, {}).setdefault(key.partition, {})[producer_id] = None
            counting = self._counting.setdefault(key, {})
            counting.pop(producer_id, None)
            counting[producer_id] = log_offset

    def supersede(self, topic: str, partition: int, log_offset: int) -> None:
        """A record of the partition at `log_offset` is committed: pending ones before it in the log never will be."""
        key = TopicPartition(topic, partition)
        counting = self._counting.get(key, {})
        for producer_id in list(takewhile(lambda each: counting[each] < log_offset, counting)):
            self._by_producer[producer_id][key] = _Pending(counting.pop(producer_id), None)

    def drop(self, topic: str, partition: int) -> None:
        """Forget what is pending for a partition (OD-7, EX-12)."""
        key = TopicPartition(topic, partition)
        for producer_id in list(self._producers.get(topic, {}).get(partition, ())):
            offsets = self._by_producer[producer_id]
            del offsets[key]
            self._leave(key, producer_id)
            if not offsets:
                del self._by_producer[producer_id]

    def complete(self, producer_id: int, commit: bool) -> list[StoredOffset]:
        """Apply an end marker; returns the offsets that are committed by it, none if it aborts."""
        offsets = self._by_producer.pop(producer_id, {})
        for key in offsets:
            self._leave(key, producer_id)
        if not commit:
            return []
        counting = []
        for (topic, partition), pending in offsets.items():
            if pending.value is not None:
                self.supersede(topic, partition, pending.log_offset)
                counting.append(pending.value)
        return counting

    def has(self, topic: str, partition: int) -> bool:
        """Whether an offset of the partition is pending (OF-9, EX-4)."""
        return partition in self._producers.get(topic, ())

    def partitions_of(self, topic: str) -> list[TopicPartition]:
        """The partitions of a topic with a pending offset."""
        return [TopicPartition(topic, partition) for partition in self._producers.get(topic, ())]

    def _leave(self, key: TopicPartition, producer_id: int) -> None:
        """The producer has nothing of the partition any more."""
        partitions = self._producers[key.topic]
        producers = partitions[key.partition]
        del producers[producer_id]
        self._counting[key].pop(producer_id, None)
        if not producers:
            del partitions[key.partition], self._counting[key]
            if not partitions:
                del self._producers[key.topic]

    def partitions(self) -> list[TopicPartition]:
        """Every partition with a pending offset, in the order of their records."""
        return list(dict.fromkeys(partition for offsets in self._by_producer.values() for partition in offsets))

    def producer_ids(self) -> list[int]:
        """Every producer with pending offsets in this group, oldest transaction first."""
        return list(self._by_producer)

    def each(self) -> Iterator[tuple[int, TopicPartition, StoredOffset | None]]:
        """Producer id, partition and offset of each, oldest transaction first; None for one that was replaced."""
        for producer_id, offsets in self._by_producer.items():
            for partition, pending in offsets.items():
                yield producer_id, partition, pending.value
