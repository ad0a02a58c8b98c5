"""The coordinator's own writes: kept as values, turned into batches when somebody looks at the log (CR-14)."""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from fakebroker.records.batch import build_batch, plain_records

Pair = tuple[bytes | None, bytes | None]
RECORDS_MAX = 100_000  # kept as values; beyond it the oldest go, or become bytes
SLACK = 5_000  # so many more before that happens, so that they go many at a time


class LazyRecords(Protocol):
    """Records whose bytes are made only when somebody looks: one write of a coordinator, one batch."""

    def __len__(self) -> int: ...

    def records(self) -> Sequence[Pair]:
        """Keys and values."""

    def is_superseded(self) -> bool:
        """Whether each record has a later one of the same key, so that compaction would drop them all (CO)."""


class Write(NamedTuple):
    """A write that has its place in the log but is not bytes yet."""

    base_offset: int
    records: LazyRecords
    leader_epoch: int
    wall_ms: int
    base_sequence: int

    def batch(self, producer: tuple[int, int] | None = None) -> bytes:
        """Its batch, in the transaction of `producer` (id and epoch) if there is one."""
        producer_id, producer_epoch = producer or (-1, -1)
        return build_batch(
            plain_records(self.records.records(), self.wall_ms, self.base_offset),
            leader_epoch=self.leader_epoch,
            transactional=producer is not None,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=self.base_sequence,
        )


class Unsettled:
    """Writes in order, oldest first. False when there are none."""

    __slots__ = ("_count", "_writes")

    def __init__(self) -> None:
        self._writes: deque[Write] = deque()
        self._count = 0  # records in them

    def __bool__(self) -> bool:
        return bool(self._writes)

    def add(self, write: Write, count: int) -> bool:
        """Keep one more, of so many records; returns whether there are so many now that some should go."""
        self._writes.append(write)
        self._count += count
        return self._count > RECORDS_MAX + SLACK

    def take(self) -> Iterator[Write]:
        """All of them; each is gone when it is handed out."""
        while self._writes:
            yield self._writes.popleft()
        self._count = 0

    def take_surplus(self) -> Iterator[Write]:
        """The oldest, until they are not too many; those that compaction would drop unseen are not handed out."""
        while self._count > RECORDS_MAX:
            oldest = self._writes.popleft()
            self._count -= len(oldest.records)
            if not oldest.records.is_superseded() or not self._writes:
                yield oldest
