"""Compaction: of each key the latest record stays, in the closed segments of a log (CO)."""

from collections.abc import Generator, Iterable, Sequence
from typing import NamedTuple

from fakebroker.broker.core.logs.aborted import AbortedTransaction
from fakebroker.broker.core.logs.log import PartitionLog
from fakebroker.broker.core.logs.segment import Segment
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import Pace, kept
from fakebroker.protocol.records.batch import BatchHeader, parse_header, read_records
from fakebroker.protocol.records.markers import ControlRecordType, control_record_type
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.records.rewrite import empty_batch, rebuild_in_steps
from fakebroker.protocol.records.search import BEFORE_EVERY_TIMESTAMP
from fakebroker.protocol.records.varint import as_long

RECORDS_PER_STEP = 2_000
_RELATIVE_OFFSET_MAX = 2**31 - 1


class CleanableRange(NamedTuple):
    """The part of a log that may be cleaned, and how much that would gain (CO-2); Kafka's `LogToClean`."""

    ratio: float  # dirty bytes in all bytes that may be cleaned
    first_dirty_offset: int
    end_offset: int  # cleaning stops before it
    is_overdue: bool  # a dirty record is older than max.compaction.lag.ms
    next_due_ms: int | None  # when time alone makes more of it cleanable or overdue


def measure(log: PartitionLog, now_ms: int) -> CleanableRange:
    """Measure the closed segments of a log. Batches that are not bytes yet come after them and stay as they are."""
    config = log.config
    start = max(log.cleaned_until, log.log_start_offset)
    end, next_due_ms = _first_uncleanable(log, now_ms)
    closed = [segment for segment in log.segments.values()[:-1] if segment.base_offset < end]
    dirty = [segment for segment in closed if segment.last_offset >= start]
    dirty_bytes = sum(segment.size_bytes for segment in dirty)
    all_bytes = sum(segment.size_bytes for segment in closed)
    oldest_ms = min((s.first_timestamp_ms for s in _dirty_closed(log, start) if s.first_timestamp_ms > 0), default=None)
    is_overdue = False
    if oldest_ms is not None:
        overdue_ms = oldest_ms + config.max_compaction_lag_ms + 1
        is_overdue = now_ms >= overdue_ms and dirty_bytes > 0
        if not is_overdue:
            next_due_ms = overdue_ms if next_due_ms is None else min(next_due_ms, overdue_ms)
    return CleanableRange(dirty_bytes / all_bytes if all_bytes else 0.0, start, end, is_overdue, next_due_ms)


def is_due(log: PartitionLog, cleanable: CleanableRange) -> bool:
    """Whether the log has to be cleaned (CO-2)."""
    return cleanable.is_overdue or cleanable.ratio > log.config.min_cleanable_dirty_ratio


class Cleaned(NamedTuple):
    """What cleaning makes of the closed segments of a log. `read` are those that it read, with their sizes then.

    `replaced` has neighbours, and the segment that they become.
    """

    read: list[tuple[Segment, int]]
    replaced: list[tuple[list[Segment], Segment]]
    aborted: set[AbortedTransaction]  # those that still have data
    end_offset: int

    def put_into(self, log: PartitionLog, now: Instant) -> bool:
        """Replace the segments. False, and nothing has happened, if the log has changed below them meanwhile."""
        if [(segment, segment.size_bytes) for segment in log.segments.values()[: len(self.read)]] != self.read:
            return False
        for group, merged in self.replaced:
            log.replace_segments(group, [merged], now)
        log.aborted.clean(self.read[-1][0].last_offset + 1 if self.read else 0, self.aborted)
        log.cleaned_until = self.end_offset
        return True


def clean(log: PartitionLog, cleanable: CleanableRange, wall_ms: int) -> Generator[None, None, Cleaned]:
    """Clean everything below `cleanable.end_offset`: latest records stay, neighbours are merged (CO-1, CO-4).

    In steps, between which the log may be written to; it changes only when `put_into` puts in what this returns.
    """
    closed = [segment for segment in log.segments.values()[:-1] if segment.base_offset < cleanable.end_offset]
    read = [(segment, segment.size_bytes) for segment in closed]
    cleaning = _Cleaning(log, wall_ms, cleanable.first_dirty_offset)
    yield from cleaning.read(closed)
    replaced = []
    for group in _groups(closed, log.config.segment_bytes):
        merged = yield from cleaning.merged(group)
        replaced.append((group, merged))
    return Cleaned(read, replaced, cleaning.transactions.retained, cleanable.end_offset)


class _Cleaning:
    """One pass over one log."""

    def __init__(self, log: PartitionLog, wall_ms: int, first_dirty_offset: int) -> None:
        self._config = log.config
        self._wall_ms = wall_ms
        self._pace = Pace(RECORDS_PER_STEP)
        self._latest: dict[bytes, int] = {}  # key -> offset of its latest record in the dirty part
        self._first_dirty_offset = first_dirty_offset
        self._end_offset = first_dirty_offset  # of what the map covers
        self._aborted = list(log.aborted.entries)
        self.transactions = CleanedTransactions(self._aborted)
        self._producers = log.producers

    def read(self, closed: Sequence[Segment]) -> Generator[None, None, None]:
        """Note the latest record of each key of the dirty part."""
        start = self._first_dirty_offset
        met = CleanedTransactions(each for each in self._aborted if each.marker_offset >= start)
        for batch in (batch for segment in closed for batch in segment.batches):
            header = parse_header(batch)
            if header.last_offset >= start:
                self._end_offset = header.last_offset + 1
                is_aborted = met.is_unneeded(batch, header)  # then its records replace nothing (CO-7)
                if not is_aborted and not header.is_control:
                    yield from self._note_latest(batch)

    def _note_latest(self, batch: bytes) -> Generator[None, None, None]:
        """Note the records of a batch, in steps: one of 1 MB may have a million."""
        for record in read_records(batch, is_checked=True):
            if record.key is not None:
                self._latest[record.key] = record.offset
            if self._pace.is_over():
                yield

    def merged(self, group: list[Segment]) -> Generator[None, None, Segment]:
        """The survivors of neighbouring segments in one."""
        segment = Segment(group[0].base_offset, group[0].created_ms)
        for old in group:
            for batch, base_offset in zip(old.batches, old.offsets, strict=True):
                cleaned = yield from self._cleaned(batch)
                if cleaned is not None:
                    header = parse_header(cleaned)
                    time_ms = header.max_timestamp_ms if header.records_count else BEFORE_EVERY_TIMESTAMP
                    interval = self._config.index_interval_bytes
                    segment.add(cleaned, base_offset, time_ms, old.modified_ms, interval)
        segment.modified_ms = group[-1].modified_ms
        return segment

    def _cleaned(self, batch: bytes) -> Generator[None, None, bytes | None]:
        """What is left of a batch, None for nothing."""
        header = parse_header(batch)
        is_unneeded = self.transactions.is_unneeded(batch, header)
        horizon_ms = header.base_timestamp_ms if header.has_delete_horizon else None
        records = read_records(batch, is_checked=True)
        if header.is_control:  # markers stay as long as tombstones do, after the data of their transaction (CO-5)
            is_over = is_unneeded and horizon_ms is not None and horizon_ms <= self._wall_ms
            left = [] if is_over else list(records)
        elif is_unneeded:
            left = []
        else:
            left = yield from kept(records, lambda record: self._is_retained(record, header), self._pace)
        if not left:
            return empty_batch(header) if self._is_retained_empty(header) else None
        has_tombstones = any(record.value is None for record in left)
        if horizon_ms is None and (has_tombstones or (header.is_control and is_unneeded)):
            horizon_ms = as_long(self._wall_ms + self._config.delete_retention_ms)  # CO-5
        elif len(left) == header.records_count:
            return batch
        return (yield from rebuild_in_steps(header, left, self._pace, delete_horizon_ms=horizon_ms))

    def _is_retained(self, record: Record, header: BatchHeader) -> bool:
        """Whether cleaning keeps a record: Kafka's `Cleaner.shouldRetainRecord`.

        Records without a key go (CO-8), so do those with a later record of their key (CO-1); a tombstone stays until
        the delete horizon of its batch (CO-5).
        """
        if record.key is None:
            return False
        if record.offset < self._latest.get(record.key, -1):
            return False
        if record.value is not None or not header.has_delete_horizon:
            return True
        return self._wall_ms < header.base_timestamp_ms

    def _is_retained_empty(self, header: BatchHeader) -> bool:
        """Whether a batch stays though no record of it does (CO-6).

        A producer's last batch says which sequence comes next, or its marker which epoch it has; the last batch of all
        where the cleaned part ends.
        """
        state = self._producers.get(header.producer_id)
        if state is not None:
            last = state.batches[-1].last_offset if state.batches else None
            is_last_marker = last is None and header.is_control and header.producer_epoch == state.epoch
            if last == header.last_offset or is_last_marker:
                return True
        return header.last_offset + 1 == self._end_offset


def _first_uncleanable(log: PartitionLog, now_ms: int) -> tuple[int, int | None]:
    """Where cleaning has to stop, and when time will move that (CO-1)."""
    active: Segment = log.segments.values()[-1]
    stable: Segment = log.segments.values()[max(log.segments.bisect_right(log.last_stable_offset) - 1, 0)]
    end, lag_ms = min(active.base_offset, stable.base_offset), log.config.min_compaction_lag_ms
    if lag_ms > 0:
        for segment in log.segments.values()[:-1]:
            if segment.base_offset >= end:
                break
            if segment.largest_timestamp_ms > now_ms - lag_ms:
                return segment.base_offset, segment.largest_timestamp_ms + lag_ms
    return end, None


def _dirty_closed(log: PartitionLog, start: int) -> list[Segment]:
    return [segment for segment in log.segments.values()[:-1] if segment.last_offset >= start]


def _groups(segments: list[Segment], segment_bytes: int) -> list[list[Segment]]:
    """Neighbours that fit into one segment together by their size before cleaning (CO-4)."""
    groups: list[list[Segment]] = []
    size = 0
    for segment in segments:
        size += segment.size_bytes
        if groups and size <= segment_bytes and segment.last_offset - groups[-1][0].base_offset <= _RELATIVE_OFFSET_MAX:
            groups[-1].append(segment)
        else:
            groups.append([segment])
            size = segment.size_bytes
    return groups


def _first_offset(transaction: AbortedTransaction) -> int:
    return transaction.first_offset


class CleanedTransactions:
    """Which transactional data compaction drops, and which markers: those of transactions without data (CO-5, CO-7).

    The cleaner passes each batch of a log, in order. Kafka: `CleanedTransactionMetadata`.

    `retained` are the aborted transactions that still had data: their entries are needed once more.
    """

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self.retained: set[AbortedTransaction] = set()
        self._ahead = sorted(aborted, key=_first_offset, reverse=True)  # the next one is the last
        self._aborted: dict[int, AbortedTransaction] = {}  # by producer id: those that have begun
        self._with_data: set[int] = set()  # producer ids of which data was met since their last marker

    def is_unneeded(self, batch: bytes, header: BatchHeader) -> bool:
        """Whether a batch is data of an aborted transaction, or a marker of a transaction without data."""
        while self._ahead and self._ahead[-1].first_offset <= header.last_offset:
            begun = self._ahead.pop()
            self._aborted.setdefault(begun.producer_id, begun)
        if header.is_control:
            return self._is_unneeded_marker(batch, header)
        if not header.is_transactional:
            return False
        self._with_data.add(header.producer_id)
        return header.producer_id in self._aborted

    def _is_unneeded_marker(self, batch: bytes, header: BatchHeader) -> bool:
        marker = next(read_records(batch), None)
        if marker is None:  # a batch that an earlier pass has emptied
            return True
        kind = control_record_type(marker.key)
        if kind not in (ControlRecordType.ABORT, ControlRecordType.COMMIT):
            return False
        aborted = self._aborted.pop(header.producer_id, None) if kind == ControlRecordType.ABORT else None
        has_data = header.producer_id in self._with_data
        self._with_data.discard(header.producer_id)
        if has_data and aborted is not None:
            self.retained.add(aborted)
        return not has_data
