"""Which transactions were aborted on a partition, and which of them an answer has to list (KIP-98, FT-15).

Kafka: `TransactionIndex`, `AbortedTxn`, `LocalLog.addAbortedTransactions`.
"""

from bisect import bisect_left
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, NamedTuple

from fakebroker.broker.core.logs.segment import Segment, last_offset

if TYPE_CHECKING:
    from fakebroker.broker.core.logs.log import PartitionLog


class AbortedTransaction(NamedTuple):
    """A transaction of a producer that had data here and was aborted.

    `last_stable_offset` is that after the marker, as far as other open transactions let it go; -1 in older snapshots.
    """

    producer_id: int
    first_offset: int
    marker_offset: int
    last_stable_offset: int = -1


def _marker_offset(transaction: AbortedTransaction) -> int:
    return transaction.marker_offset


class AbortedTransactions:
    """The aborted transactions of one log, in the order of their markers.

    Kafka keeps a file beside each segment, with the transactions whose markers are in it: an entry goes with the
    segment of its marker.
    """

    __slots__ = ("entries",)

    def __init__(self) -> None:
        self.entries: list[AbortedTransaction] = []

    def add(self, transaction: AbortedTransaction) -> None:
        """A marker was appended that aborts a transaction."""
        self.entries.append(transaction)

    def overlapping(self, offset: int, end_offset: int) -> list[AbortedTransaction]:
        """Those whose marker is at or after `offset` and whose first offset is below `end_offset`."""
        entries = self.entries
        first = bisect_left(entries, offset, key=_marker_offset)
        return [each for each in entries[first:] if each.first_offset < end_offset]

    def marked_between(self, offset: int, end_offset: int) -> list[AbortedTransaction]:
        """Those whose marker is in [offset, end_offset)."""
        entries = self.entries
        first = bisect_left(entries, offset, key=_marker_offset)
        return entries[first : bisect_left(entries, end_offset, lo=first, key=_marker_offset)]

    def cut_start(self, offset: int) -> None:
        """The segments before `offset` are deleted."""
        del self.entries[: bisect_left(self.entries, offset, key=_marker_offset)]

    def cut_end(self, offset: int) -> None:
        """The log is truncated to `offset`."""
        del self.entries[bisect_left(self.entries, offset, key=_marker_offset) :]

    def clean(self, end_offset: int, retained: Container[AbortedTransaction]) -> None:
        """The log was compacted up to `end_offset`: of the transactions before it only the `retained` had data left."""
        entries = self.entries
        self.entries = [each for each in entries if each.marker_offset >= end_offset or each in retained]


def aborted_in_read(
    log: "PartitionLog", offset: int, end_offset: int, batches: Sequence[bytes], max_bytes: int
) -> list[tuple[int, int]] | None:
    """(producer id, first offset) of the aborted transactions that go with what was read from `offset` on (FT-15).

    `batches` were read with the limits `end_offset` and `max_bytes`. As in Kafka the range ends at the entry of the
    segment's index that follows the bytes read, or with the segment: there may be more transactions than needed.
    None if the first batch was too large for what room there was; without any room there is a list, as seen on 4.3.1.
    """
    if not batches and offset < end_offset and max_bytes > 0:
        return None
    if offset >= end_offset or not log.aborted.entries:
        return []
    at = log.segments.bisect_right(offset) - 1
    segments = log.segments.values()[max(at, 0) :]
    while not _has(segments[0], offset):
        segments = segments[1:]
    segment: Segment = segments[0]
    range_end = segments[1].base_offset if len(segments) > 1 else log.log_end_offset
    overlapping = log.aborted.overlapping(offset, range_end)
    if overlapping:
        size_bytes = max(len(batches[0]), max_bytes) if batches else 0
        indexed = _next_indexed_offset(segment, _end_position(segment, offset, end_offset, size_bytes), log)
        range_end = range_end if indexed is None else indexed
    return [(each.producer_id, each.first_offset) for each in overlapping if each.first_offset < range_end]


def _has(segment: Segment, offset: int) -> bool:
    """Whether a read from `offset` on finds a batch in this segment."""
    return segment.batch_index_of(offset) < len(segment.batches)


def _end_position(segment: Segment, offset: int, end_offset: int, size_bytes: int) -> int:
    """Up to which byte of the segment Kafka reads: by `size_bytes` it may be in the middle of a batch."""
    first, beyond = segment.batch_index_of(offset), bisect_left(segment.offsets, end_offset)
    start = segment.ends[first - 1] if first else 0
    return min(start + size_bytes, segment.ends[beyond - 1])


def _next_indexed_offset(segment: Segment, position: int, log: "PartitionLog") -> int | None:
    """The offset in the first entry of Kafka's offset index that points to `position` or behind it; None if none does.

    An index has an entry for a batch when more than index.interval.bytes were written since the one before, and the
    entry holds the batch's last offset. The entries are found by counting again, as only this asks for them.
    """
    interval_bytes = log.config.index_interval_bytes
    unindexed_bytes = start = 0
    for index, end in enumerate(segment.ends):
        if unindexed_bytes > interval_bytes:
            if start >= position:
                return last_offset(segment.batches[index], segment.offsets[index])
            unindexed_bytes = 0
        unindexed_bytes += end - start
        start = end
    return None
