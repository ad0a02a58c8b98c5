"""Pending batches: what a coordinator appended, kept as values until the bytes of the log are needed (CR-14).

An OffsetCommit is one tuple that cache and log share; a batch of it is built ("materialized") only when the log is
read, measured, searched or truncated. All logs of a broker share one bound on the memory of pending batches,
`fakebroker.unread.writes.max.bytes`. Beyond it the log that has most pending batches makes room:

    WHOLE BATCHES ARE DROPPED FROM THE LOG without having been stored

if later records overwrote every one of their records. If that is not enough, the oldest are materialized. A later
reader of the log finds gaps in its offsets, as after compaction, which would have removed the same records (CO-1;
`__consumer_offsets` is a compacted topic). A load of the partition gives the same with and without that, because the
last record of a key is never dropped.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol

from fakebroker.protocol.records.batch import build_batch, build_plain_batch, plain_records
from fakebroker.protocol.records.record_codec import encode_plain_records

Pair = tuple[bytes | None, bytes | None]
"""Key and value of a record."""

ROOM_SHARE = 256
"""Over the bound, so much more is freed at once: one part in 256 of the bound."""


class DeferredRecords(Protocol):
    """The records of one batch, whose bytes are made only when they are needed."""

    def __len__(self) -> int: ...

    def records(self) -> Sequence[Pair]:
        """Keys and values, encoded."""

    def memory_bytes(self) -> int:
        """How much memory the values take, with everything that belongs to the batch."""

    def all_overwritten(self) -> bool:
        """Whether each record has a later one of the same key. True allows the log to DROP the batch.

        It is asked of a batch only after the next one was appended to the same log: the newest may not have been
        applied to the coordinator's cache yet, which is what answers this.
        """


class EncodedRecords:
    """The base of `DeferredRecords` that are encoded in less time than their keys and values are made."""

    __slots__ = ()

    def encoded(self) -> bytes:
        """What `encode_plain_records` gives for their keys and values."""
        raise NotImplementedError


class DeferredBatch(NamedTuple):
    """A batch that has its offsets in the log but no bytes yet."""

    base_offset: int
    records: DeferredRecords
    leader_epoch: int
    wall_ms: int  # the timestamp of each record
    base_sequence: int
    memory_bytes: int

    def build(self, producer: tuple[int, int] | None = None) -> bytes:
        """The bytes, in the transaction of `producer` (id and epoch) if there is one."""
        if producer is None:
            records = self.records
            return build_plain_batch(
                records.encoded() if isinstance(records, EncodedRecords) else encode_plain_records(records.records()),
                len(records),
                base_offset=self.base_offset,
                timestamp_ms=self.wall_ms,
                leader_epoch=self.leader_epoch,
                base_sequence=self.base_sequence,
            )
        producer_id, producer_epoch = producer
        return build_batch(
            plain_records(self.records.records(), self.wall_ms, self.base_offset),
            leader_epoch=self.leader_epoch,
            transactional=True,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=self.base_sequence,
        )


# A DeferredBatch as it is kept: its fields, in its order, as a plain tuple, which is made in a tenth of the time.
PendingBatch = tuple[int, DeferredRecords, int, int, int, int]
_RECORDS: Final = 1
_MEMORY_BYTES: Final = 5


class Log(Protocol):
    """What the bound asks of a log."""

    def shrink_pending(self, max_bytes: int) -> None:
        """DROP or materialize the oldest pending batches until the others take no more than `max_bytes`."""


class PendingBatchMemory:
    """Every log of a broker that has pending batches, and the bound on the memory they take together."""

    __slots__ = ("_logs", "max_bytes", "memory_bytes")

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.memory_bytes = 0  # of all pending batches in all logs
        self._logs: dict[PendingBatches, Log] = {}

    def make_room(self) -> None:
        """Shrink the logs with most pending memory until the bound is kept, and a little more."""
        target_bytes = self.max_bytes - self.max_bytes // ROOM_SHARE
        while self.memory_bytes > target_bytes:
            largest = max(self._logs, key=_memory_bytes)
            surplus_bytes = self.memory_bytes - target_bytes
            max_bytes = max(largest.memory_bytes - surplus_bytes, largest.memory_bytes // 2)
            self._logs[largest].shrink_pending(max_bytes)

    def began(self, batches: "PendingBatches", log: Log) -> None:
        """The log has its first pending batch."""
        self._logs[batches] = log

    def ended(self, batches: "PendingBatches") -> None:
        """The log has no pending batch any more."""
        self._logs.pop(batches, None)


def built(
    batches: Iterable[DeferredBatch], on_error: Callable[[Exception], None]
) -> Iterator[tuple[DeferredBatch, bytes]]:
    """Batches and their bytes. What cannot be built goes to `on_error` and leaves a gap.

    Those behind it, which may be of other groups, are not lost with it.
    """
    for batch in batches:
        try:
            data = batch.build()
        except Exception as error:
            on_error(error)
        else:
            yield batch, data


class PendingBatches:
    """The pending batches of one log, oldest first, and the memory they take."""

    __slots__ = ("_added_bytes", "_all", "batches", "memory_bytes")

    def __init__(self, all_logs: PendingBatchMemory) -> None:
        self.memory_bytes = 0
        self._added_bytes = 0  # since all of them were looked at
        self._all = all_logs
        self.batches: deque[PendingBatch] = deque()

    def add(self, batch: PendingBatch, log: Log) -> None:
        """Append a batch of `log`. If all logs together have too much now, the largest are shrunk at once."""
        all_logs, size_bytes = self._all, batch[_MEMORY_BYTES]
        if not self.batches:
            all_logs.began(self, log)
        self.batches.append(batch)
        self.memory_bytes += size_bytes
        self._added_bytes += size_bytes
        all_logs.memory_bytes += size_bytes
        if all_logs.memory_bytes > all_logs.max_bytes:
            all_logs.make_room()

    def pop_all(self) -> Iterator[DeferredBatch]:
        """Remove and return all of them, oldest first. None is dropped."""
        while self.batches:
            yield self._pop_oldest()

    def pop_some(self, records: int) -> Iterator[DeferredBatch]:
        """Remove and return the oldest, until that are so many records. None is dropped."""
        while self.batches and records > 0:
            oldest = self._pop_oldest()
            records -= len(oldest.records)
            yield oldest

    def clear(self) -> None:
        """Drop all of them: the log itself is deleted."""
        while self.batches:
            self._pop_oldest()

    def pop_to_store(self, max_bytes: int) -> Iterator[DeferredBatch]:
        """Remove batches until the others take no more than `max_bytes`; return those to be stored, oldest first.

        DROPS RECORDS: batches whose records are all overwritten are removed and not returned, those in the middle
        before the oldest of the others is stored: what stays is in proportion to what is alive, however long the
        coordinator has been writing. The newest batch of a log is never dropped, since `all_overwritten` cannot answer
        for it yet.
        """
        if self._added_bytes * 2 >= self.memory_bytes:  # so that a look at all of them is paid for by as many additions
            self._drop_overwritten()
        while self.batches and self.memory_bytes > max_bytes:
            oldest = self._pop_oldest()
            is_newest = not self.batches
            if is_newest or not oldest.records.all_overwritten():
                yield oldest

    def _drop_overwritten(self) -> None:
        newest = self.batches.pop()
        kept = deque(batch for batch in self.batches if not batch[_RECORDS].all_overwritten())
        kept.append(newest)
        kept_bytes = sum([batch[_MEMORY_BYTES] for batch in kept])
        self._all.memory_bytes -= self.memory_bytes - kept_bytes
        self.batches, self.memory_bytes, self._added_bytes = kept, kept_bytes, 0

    def _pop_oldest(self) -> DeferredBatch:
        oldest = DeferredBatch._make(self.batches.popleft())
        self.memory_bytes -= oldest.memory_bytes
        self._all.memory_bytes -= oldest.memory_bytes
        if not self.batches:
            self._all.ended(self)
        return oldest


def _memory_bytes(batches: PendingBatches) -> int:
    return batches.memory_bytes
