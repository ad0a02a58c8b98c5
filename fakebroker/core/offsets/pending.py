"""Offsets committed in transactions that are still open (OC-16, LD-2).

They count once the marker of their transaction says so. The order of the records in the log decides: a plain commit,
or another transaction's, that lies behind a pending record outlives it (OC-18). Until the marker comes the partition
stays unstable all the same (OF-9).
"""

from collections.abc import Iterable
from typing import NamedTuple

from fakebroker.records.offsets_topic import StoredOffset


class _Pending(NamedTuple):
    log_offset: int
    value: StoredOffset | None  # None: a later record has replaced it


class PendingOffsets:
    """The pending offsets of one group, by producer id and partition."""

    __slots__ = ("_by_producer",)

    def __init__(self) -> None:
        self._by_producer: dict[int, dict[tuple[str, int], _Pending]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_producer)

    def add(self, producer_id: int, offsets: Iterable[StoredOffset], base_offset: int) -> None:
        """Apply the records of a transactional commit; the first lies at `base_offset` of the log."""
        mine = self._by_producer.setdefault(producer_id, {})
        for log_offset, stored in enumerate(offsets, base_offset):
            mine[stored[:2]] = _Pending(log_offset, stored)

    def supersede(self, topic: str, partition: int, log_offset: int) -> None:
        """A record of the partition at `log_offset` counts: what is pending before it never will."""
        for offsets in self._by_producer.values():
            pending = offsets.get((topic, partition))
            if pending is not None and pending.log_offset < log_offset:
                offsets[topic, partition] = _Pending(pending.log_offset, None)

    def drop(self, topic: str, partition: int) -> None:
        """Forget what is pending for a partition (OD-7, EX-12)."""
        for producer_id, offsets in list(self._by_producer.items()):
            offsets.pop((topic, partition), None)
            if not offsets:
                del self._by_producer[producer_id]

    def complete(self, producer_id: int, commit: bool) -> list[StoredOffset]:
        """Apply a marker: the offsets that count from now on, in no case those of an abort."""
        offsets = self._by_producer.pop(producer_id, {})
        if not commit:
            return []
        counting = []
        for (topic, partition), pending in offsets.items():
            if pending.value is not None:
                self.supersede(topic, partition, pending.log_offset)
                counting.append(pending.value)
        return counting

    def has(self, topic: str, partition: int) -> bool:
        """Is an offset of the partition pending (OF-9, EX-4)?"""
        return any((topic, partition) in offsets for offsets in self._by_producer.values())

    def places(self) -> list[tuple[str, int]]:
        """Every partition with a pending offset, in the order of their records."""
        return list(dict.fromkeys(place for offsets in self._by_producer.values() for place in offsets))

    def producer_ids(self) -> list[int]:
        """Every producer with pending offsets in this group, longest first."""
        return list(self._by_producer)
