"""The coordinators' own writes: kept as values, turned into batches when somebody looks at the log (CR-14).

All logs of a broker share one bound on the memory of these values. Beyond it the oldest writes of the log that has
most of them go: those whose every record was replaced by a later one are dropped, as compaction would (CO-1), the
others become bytes. A load gives the same with and without that: of each key the last record is never dropped.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from fakebroker.records.batch import build_batch, plain_records

Pair = tuple[bytes | None, bytes | None]
ROOM_SHARE = 256  # when there is too much, one part in so many goes at once


class LazyRecords(Protocol):
    """Records whose bytes are made only when somebody looks: one write of a coordinator, one batch."""

    def __len__(self) -> int: ...

    def records(self) -> Sequence[Pair]:
        """Keys and values."""

    def memory_bytes(self) -> int:
        """How much memory the values take, with everything that belongs to the write."""

    def is_superseded(self) -> bool:
        """Whether each record has a later one of the same key, so that compaction would drop them all (CO).

        Asked of a write only after the next one of the same log.
        """


class Write(NamedTuple):
    """A write that has its place in the log but is not bytes yet."""

    base_offset: int
    records: LazyRecords
    leader_epoch: int
    wall_ms: int
    base_sequence: int
    memory_bytes: int

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


class Log(Protocol):
    """What a log does with its writes."""

    def shrink_unsettled(self, most_bytes: int) -> None:
        """Drop or store the oldest until the rest takes no more than `most_bytes`."""


class UnsettledLogs:
    """Every log of a broker that holds writes, and the bound on what they take together."""

    __slots__ = ("_logs", "max_bytes", "memory_bytes")

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.memory_bytes = 0  # of all writes in all logs
        self._logs: dict[Unsettled, Log] = {}

    def make_room(self) -> None:
        """Let the oldest writes of the largest logs go until the bound is kept, and a little more."""
        target_bytes = self.max_bytes - self.max_bytes // ROOM_SHARE
        while self.memory_bytes > target_bytes:
            largest = max(self._logs, key=_memory_bytes)
            surplus_bytes = self.memory_bytes - target_bytes
            most_bytes = max(largest.memory_bytes - surplus_bytes, largest.memory_bytes // 2)
            self._logs[largest].shrink_unsettled(most_bytes)

    def began(self, writes: "Unsettled", log: Log) -> None:
        """The log has its first write."""
        self._logs[writes] = log

    def ended(self, writes: "Unsettled") -> None:
        """The log has none any more."""
        self._logs.pop(writes, None)


class Unsettled:
    """The writes of one log in order, oldest first, and what they take. False when there are none."""

    __slots__ = ("_all", "_writes", "memory_bytes")

    def __init__(self, all_logs: UnsettledLogs) -> None:
        self.memory_bytes = 0
        self._all = all_logs
        self._writes: deque[Write] = deque()

    def __bool__(self) -> bool:
        return bool(self._writes)

    def add(self, write: Write, log: Log) -> None:
        """Keep one more, of `log`; if all logs together have too much now, some go."""
        all_logs, size_bytes = self._all, write.memory_bytes
        if not self._writes:
            all_logs.began(self, log)
        self._writes.append(write)
        self.memory_bytes += size_bytes
        all_logs.memory_bytes += size_bytes
        if all_logs.memory_bytes > all_logs.max_bytes:
            all_logs.make_room()

    def take(self) -> Iterator[Write]:
        """All of them; each is gone when it is handed out."""
        while self._writes:
            yield self._take_oldest()

    def clear(self) -> None:
        """Forget them: the log itself is gone."""
        while self._writes:
            self._take_oldest()

    def take_surplus(self, most_bytes: int) -> Iterator[Write]:
        """The oldest, until the rest takes no more than `most_bytes`; those that compaction would drop unseen are not
        handed out. The newest may not have been applied yet, so nobody can tell.
        """
        while self._writes and self.memory_bytes > most_bytes:
            oldest = self._take_oldest()
            if not self._writes or not oldest.records.is_superseded():
                yield oldest

    def _take_oldest(self) -> Write:
        oldest = self._writes.popleft()
        self.memory_bytes -= oldest.memory_bytes
        self._all.memory_bytes -= oldest.memory_bytes
        if not self._writes:
            self._all.ended(self)
        return oldest


def _memory_bytes(log: Unsettled) -> int:
    return log.memory_bytes
