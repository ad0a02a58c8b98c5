"""The log of one partition: stored batches in segments, where it starts and ends, and what may be read of it.

A batch is checked first and stored then; one that fails a check leaves no trace. Batches are kept as the bytes that
came in, with base offset and leader epoch patched (RB-5). Those of coordinators may be pending (pending_batches.py).
Kafka: `UnifiedLog`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from sortedcontainers import SortedDict

from fakebroker.broker.core.logs.aborted import AbortedTransaction, AbortedTransactions
from fakebroker.broker.core.logs.appends import AppendError, check_batch
from fakebroker.broker.core.logs.config import LogConfig
from fakebroker.broker.core.logs.host import LogPartition
from fakebroker.broker.core.logs.leader_epochs import LeaderEpochs
from fakebroker.broker.core.logs.log_time_index import LogTimeIndex
from fakebroker.broker.core.logs.log_time_search import Search, find_by_timestamp, find_max_timestamp
from fakebroker.broker.core.logs.pending_batches import DeferredBatch, DeferredRecords, PendingBatches, built
from fakebroker.broker.core.logs.producers import Producers, Verification
from fakebroker.broker.core.logs.segment import Segment
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.batch import BatchHeader, parse_header, read_records, with_base_offset
from fakebroker.protocol.records.markers import build_marker
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.records.record_scan import scan
from fakebroker.protocol.records.rewrite import cut_batch
from fakebroker.protocol.records.search import max_timestamp_of

if TYPE_CHECKING:
    from fakebroker.broker.core.logs.host import DiskGuard, LogStore
    from fakebroker.broker.core.logs.request_scans import ScanBatch


class Appended(NamedTuple):
    """Where a batch went: what Produce answers (PD-2, PD-9)."""

    base_offset: int
    log_append_time_ms: int  # -1 with CreateTime
    log_start_offset: int


class PartitionLog:
    """One log. Offsets: `log_start_offset` <= `last_stable_offset` <= `high_watermark` <= `log_end_offset`.

    `waiters` are called with the time when more can be read or the log, its leader or its topic has changed: delayed
    fetches, which register and remove themselves. The key identifies the waiter. A waiter may answer a Fetch at once,
    in the middle of a Produce: nothing of the log may be half done when they are called.
    """

    def __init__(self, partition: LogPartition) -> None:
        self.partition = partition
        self.name = f"{partition.topic.name}-{partition.index}"
        self.log_start_offset = 0
        self.log_end_offset = 0
        self.high_watermark = 0
        self.last_stable_offset = 0
        self.high_watermark_limit: int | None = None  # what replicas have, where they lag
        self.producers = Producers(outlive_records=partition.topic.cluster.behaviours.producers_outlive_records)
        self.aborted = AbortedTransactions()
        self.waiters: dict[object, Callable[[Instant], None]] = {}
        # By base offset, for bisection. The cleaner replaces segments in the middle, by their base offsets.
        self.segments: SortedDict[int, Segment] = SortedDict()
        self._active = Segment(0, 0)
        self.segments[0] = self._active
        self._epochs = LeaderEpochs()
        self._times: LogTimeIndex | None = None
        self._pending = PendingBatches(partition.topic.cluster.pending_batch_memory)
        self._jobs = partition.topic.cluster.log_jobs
        self.cleaned_until = 0  # where the cleaner stopped last
        self.is_size_watched = False  # the retention job sleeps and wants to hear of growth (RT-3)
        self.store: LogStore | None = None  # what keeps it on disk
        self.disk_guard: DiskGuard | None = None  # while a disk may refuse what is written

    @property
    def config(self) -> LogConfig:
        """The topic's settings as they are now."""
        return self.partition.topic.config.log

    def last_fetchable_offset(self, *, is_consumer: bool, read_committed: bool) -> int:
        """The offset before which a reader must stop: consumers never see what may still be lost (FT-14, LO-10)."""
        if not is_consumer:
            return self.log_end_offset
        return self.last_stable_offset if read_committed else self.high_watermark

    @property
    def epochs(self) -> LeaderEpochs:
        """The history of leader epochs, with the one in force (LE-3, OE-7)."""
        epochs = self._epochs
        epoch = self.partition.leader_epoch
        if epoch != epochs.latest:
            epochs.begin(epoch, self.log_end_offset)
        return epochs

    # -- writing -------------------------------------------------------------------------------------------------

    def append(self, data: bytes, now: Instant, scan_batch: "ScanBatch" = scan) -> Appended:
        """Check and store one batch from a client. Raises AppendError, and then nothing has changed.

        `data` is exactly one batch of format 2 (see `appends.single_batch`); `scan_batch` gives its scan
        (request_scans.py). The checks have Kafka's order: of the batch (PD-10), then of its producer (ID-2).
        """
        config = self.config
        data, header, max_timestamp_ms = check_batch(data, config, self.name, now.wall_ms, scan_batch)
        has_producer = header.producer_id >= 0
        if has_producer:
            repeated = self._check_producer(header)
            if repeated is not None:
                return repeated
        if self.disk_guard is not None and not self.disk_guard.takes(len(data)):
            raise AppendError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.name}: the disk cannot take {len(data)} bytes")
        base_offset = self._store(data, header.last_offset_delta, max_timestamp_ms, now.wall_ms, config)
        if has_producer and self.producers.written(header, base_offset, max_timestamp_ms):
            self._jobs.producer_wrote(max_timestamp_ms, now.wall_ms)
        self._moved(now)
        where = base_offset, now.wall_ms if config.log_append_time else -1, self.log_start_offset
        return tuple.__new__(Appended, where)  # as Appended(*where), in half the time

    def append_records(
        self,
        records: DeferredRecords,
        now: Instant,
        producer: tuple[int, int] | None = None,
        *,
        base_sequence: int = 0,
    ) -> int:
        """Append a coordinator's records as one batch with the present time; returns its base offset.

        The batch is pending (pending_batches.py) until its bytes are needed, unless it is part of a transaction:
        `producer` is then the producer's id and epoch. Kafka's coordinators write base sequence 0 in most batches, with
        and without a producer. Raises KafkaError(INVALID_PRODUCER_EPOCH) for a producer that was fenced here (ID-4).
        If the disk cannot take them, the coordinator waits for replicas until its partition is unloaded (LR-5).
        """
        if producer is not None and self.partition.topic.cluster.behaviours.coordinators_check_epochs:
            self.producers.check_epoch(*producer)
        base_offset = self.log_end_offset
        epoch, size_bytes = self.epochs.latest, records.memory_bytes()
        if self.disk_guard is not None and not self.disk_guard.takes(size_bytes):
            self.disk_guard.refuse(self)
        deferred = base_offset, records, epoch, now.wall_ms, base_sequence, size_bytes
        if producer is not None:
            self.materialize_pending()
            batch = DeferredBatch._make(deferred).build(producer)
            self._put(batch, len(records) - 1, now.wall_ms, now.wall_ms, self.config)
            self.producers.written(parse_header(batch), base_offset, now.wall_ms)
        else:
            self.log_end_offset = base_offset + len(records)
            self._pending.add(deferred, self)
        self._moved(now)
        return base_offset

    def append_marker(
        self,
        producer_id: int,
        producer_epoch: int,
        now: Instant,
        *,
        commit: bool,
        coordinator_epoch: int,
        is_tv2: bool = False,
    ) -> int:
        """Append the marker that ends a producer's transaction here, open or not (TX-3, WM-4); returns its offset.

        Raises KafkaError as `Producers.check_marker` does, and KAFKA_STORAGE_ERROR; then nothing has changed.
        """
        self.producers.check_marker(producer_id, producer_epoch, coordinator_epoch, is_tv2=is_tv2)
        marker = build_marker(
            producer_id,
            producer_epoch,
            commit=commit,
            coordinator_epoch=coordinator_epoch,
            timestamp_ms=now.wall_ms,
        )
        if self.disk_guard is not None and not self.disk_guard.takes(len(marker)):
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.name}: the disk cannot take a marker")
        offset = self._store(marker, 0, now.wall_ms, now.wall_ms, self.config)
        began = self.producers.ended(producer_id, producer_epoch, coordinator_epoch, now.wall_ms)
        if began is not None:
            self.producers.hold_until_replicated(began, offset)
            if not commit:
                stable_offset = self.producers.open_before(offset + 1)
                self.aborted.add(AbortedTransaction(producer_id, began, offset, stable_offset))
        self._jobs.producer_wrote(now.wall_ms, now.wall_ms)
        self._moved(now)
        return offset

    def begin_verification(
        self, producer_id: int, epoch: int, sequence: int, now: Instant, *, is_tv2: bool
    ) -> Verification:
        """As `Producers.begin_verification`; it is forgotten like a producer if nothing comes of it (ID-11)."""
        self._jobs.verification_began(self, now.wall_ms)
        return self.producers.begin_verification(producer_id, epoch, sequence, now.wall_ms, is_tv2=is_tv2)

    def materialize_pending(self, records: int | None = None) -> None:
        """Build and store the bytes of pending batches, all or the first `records`, as if stored when appended.

        Everything that reads, measures, searches or truncates the log calls this first.
        """
        if self._pending.batches:
            self._store_pending(self._pending.pop_all() if records is None else self._pending.pop_some(records))

    def shrink_pending(self, max_bytes: int) -> None:
        """Let pending batches take at most `max_bytes` of memory: the oldest are stored, or DROPPED.

        Dropped is a batch all of whose records later ones overwrote; its offsets become a gap, as after compaction.
        """
        self._store_pending(self._pending.pop_to_store(max_bytes))

    def discard_pending(self) -> None:
        """Drop all pending batches: the topic is deleted."""
        self._pending.clear()

    def truncate(self, offset: int, now: Instant) -> None:
        """Remove all records from `offset` on, inside a batch too. For tests; no API does this."""
        self.materialize_pending()
        if offset >= self.log_end_offset:
            return
        while self._active.base_offset > offset:
            del self.segments[self._active.base_offset]
            self._active = self._last_segment(offset)
        segment = self._active
        index = segment.batch_index_of(offset)
        rest = cut_batch(segment.batches[index], offset) if index < len(segment.batches) else None
        segment.truncate(index)
        self.log_end_offset = segment.last_offset + 1
        if rest is not None:
            self._put(rest, parse_header(rest).last_offset_delta, max_timestamp_of(rest), now.wall_ms, self.config)
        self.log_end_offset = offset
        self.log_start_offset = min(self.log_start_offset, offset)
        self.cleaned_until = min(self.cleaned_until, offset)
        self._epochs.cut_end(offset)
        self._times = None
        if self.store is not None:
            self.store.altered(offset)
        self.aborted.cut_end(offset)
        self.producers.reload(batch for segment in self.segments.values() for batch in segment.batches)
        self._moved(now)

    def corrupt(self, offset: int) -> None:
        """Invert the last byte of the stored batch that holds `offset`, so that its checksum is wrong. For tests.

        Raises KafkaError(OFFSET_OUT_OF_RANGE) if no batch holds it.
        """
        self.materialize_pending()
        segment: Segment = self.segments.values()[max(self.segments.bisect_right(offset) - 1, 0)]
        index = segment.batch_index_of(offset)
        if index == len(segment.batches) or segment.offsets[index] > offset:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"{self.name}: no batch holds offset {offset}")
        batch = segment.batches[index]
        segment.batches[index] = batch[:-1] + bytes([batch[-1] ^ 0xFF])
        if self.store is not None:
            self.store.altered(offset)

    def advance_log_start(self, offset: int, now: Instant) -> None:
        """Move the log start to `offset`, also inside a batch (DL-1). Does nothing if it is there or after.

        Raises KafkaError(OFFSET_OUT_OF_RANGE) above the high watermark (DL-2).
        """
        if not 0 <= offset <= self.high_watermark:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"{self.name}: offset {offset} is above the high watermark {self.high_watermark}",
            )
        if offset > self.log_start_offset:
            self._start_at(offset)
            self._jobs.grew(self, now.wall_ms)
            self._moved(now)

    def delete_segments(self, count: int, now: Instant) -> None:
        """Delete the `count` oldest segments; the log starts after them. The active one is rolled first (RT-2)."""
        self.materialize_pending()
        if count == len(self.segments) and not self._active.is_empty:
            self._roll(self.log_end_offset, now.wall_ms)
        for _ in range(min(count, len(self.segments) - 1)):
            self.segments.popitem(0)
        self._times = None
        if self.store is not None:
            self.store.segments_changed()
        first_offset: int = self.segments.keys()[0]
        self.aborted.cut_start(first_offset)
        if first_offset > self.log_start_offset:
            self._start_at(first_offset)
        self._moved(now)

    def replace_segments(self, old: Sequence[Segment], new: Sequence[Segment], now: Instant) -> None:
        """Put cleaned segments in the place of closed ones (CO-4). Offsets stay."""
        for segment in old:
            del self.segments[segment.base_offset]
        for segment in new:
            self.segments[segment.base_offset] = segment
        self._times = None
        if self.store is not None:
            self.store.segments_changed()
        self._moved(now)

    def fill(self, segments: Sequence[Segment], epochs: Iterable[tuple[int, int]]) -> None:
        """Give an unused log its segments, the last one active, and epochs, as when a broker reads its disk."""
        self.segments = SortedDict((segment.base_offset, segment) for segment in segments)
        self._active = segments[-1]
        for epoch, offset in epochs:
            self._epochs.begin(epoch, offset)
        if any(not segment.is_empty for segment in segments):
            self._jobs.watch(self)

    def limit_high_watermark(self, offset: int | None, now: Instant) -> None:
        """Hold the high watermark at `offset`, as followers that lag do; None lets it follow the log's end again."""
        self.high_watermark_limit = offset
        self._moved(now)

    # -- reading -------------------------------------------------------------------------------------------------

    def read(self, offset: int, max_bytes: int, end: int, *, at_least_one: bool = True) -> list[bytes]:
        """Stored batches from the one that holds `offset`, of one segment, that begin before `end`.

        Together at most `max_bytes`; with `at_least_one` the first may be larger (FT-6, FT-9, FT-16, SE-2). Only the
        beginning of the last may be there. Empty if there is nothing. The caller has checked that `offset` is in range
        (FT-10).
        """
        if self._pending.batches:
            self.materialize_pending()
        segment: Segment = self._active
        if offset >= segment.base_offset:
            return segment.read(offset, max_bytes, end, at_least_one=at_least_one)
        at = max(self.segments.bisect_right(offset) - 1, 0)
        for segment in self.segments.values()[at:]:
            if segment.base_offset >= end:
                break
            if segment.batch_index_of(offset) < len(segment.batches):
                return segment.read(offset, max_bytes, end, at_least_one=at_least_one)
        return []

    def readable_bytes(self, offset: int, end: int) -> int:
        """How many bytes lie between the two offsets, over all segments (FT-4)."""
        self.materialize_pending()
        if offset >= self._active.base_offset:
            return self._active.bytes_between(offset, end)
        at = max(self.segments.bisect_right(offset) - 1, 0)
        return sum(segment.bytes_between(offset, end) for segment in self.segments.values()[at:])

    def batches(self) -> Iterator[bytes]:
        """Every stored batch that ends at or after the log start, in order."""
        self.materialize_pending()
        for segment in self.segments.values():
            yield from segment.batches[segment.batch_index_of(self.log_start_offset) :]

    def records(self, start: int = 0, end: int | None = None) -> Iterator[Record]:
        """Every record with an offset in [start, end), from the log start on; those of markers are left out.

        `end` is the log's end unless given. Raises InvalidRecord at a batch that a test corrupted.
        """
        start, end = max(start, self.log_start_offset), self.log_end_offset if end is None else end
        for batch in self.batches():
            header = parse_header(batch)
            if header.base_offset >= end:
                return
            if header.last_offset >= start and not header.is_control:
                yield from (record for record in read_records(batch) if start <= record.offset < end)

    @property
    def size_bytes(self) -> int:
        """Bytes of all segments, deleted records included as long as their segment exists."""
        self.materialize_pending()
        return sum(segment.size_bytes for segment in self.segments.values())

    # -- searching by time ---------------------------------------------------------------------------------------

    def find_by_timestamp(self, target_ms: int, end: int) -> Search:
        """The first record from the log start on whose timestamp is >= `target_ms` (LO-11), None at or after `end`.

        Raises KafkaError(CORRUPT_MESSAGE) when the batch was corrupted by a test.
        """
        return find_by_timestamp(self, target_ms, end)

    def find_max_timestamp(self, end: int) -> Search:
        """The first record with the largest timestamp of all, deleted or not (LO-16); None at or after `end`."""
        return find_max_timestamp(self, end)

    @property
    def time_index(self) -> LogTimeIndex:
        """What searches by time begin with."""
        times = self._times
        if times is None:
            times = self._times = LogTimeIndex(self.segments.values(), self.log_start_offset)
        return times

    def segment_starts(self, now_ms: int) -> list[tuple[int, int]]:
        """(first offset, time of the last write) of each segment, oldest first, and (end, now) after records (LO-18).

        A log that was never written to counts as written to now (LO-20).
        """
        self.materialize_pending()
        start = self.log_start_offset
        starts = [(max(s.base_offset, start), s.modified_ms or now_ms) for s in self.segments.values()]
        if not self._active.is_empty:
            starts.append((self.log_end_offset, now_ms))
        return starts

    @property
    def active_segment(self) -> Segment:
        """The segment that takes the next batch."""
        self.materialize_pending()
        return self._active

    # -- inside --------------------------------------------------------------------------------------------------

    def _check_producer(self, header: BatchHeader) -> Appended | None:
        try:
            repeated = self.producers.check(header)
        except KafkaError as error:
            raise AppendError(error.code, error.message) from None
        if repeated is None:
            return None
        return Appended(repeated.first_offset, repeated.max_timestamp_ms, self.log_start_offset)

    def _store(
        self, data: bytes, last_offset_delta: int, max_timestamp_ms: int, wall_ms: int, config: LogConfig
    ) -> int:
        if self._pending.batches:
            self.materialize_pending()
        base_offset = self.log_end_offset
        stored = with_base_offset(data, base_offset, self.epochs.latest)
        self._put(stored, last_offset_delta, max_timestamp_ms, wall_ms, config)
        return base_offset

    def _put(
        self, stored: bytes, last_offset_delta: int, max_timestamp_ms: int, wall_ms: int, config: LogConfig
    ) -> None:
        """Put a finished batch at the end, in a new segment if it is time for one (SE-1)."""
        segment = self._active
        base_offset = self.log_end_offset
        end_offset = base_offset + last_offset_delta
        if segment.is_full_for(len(stored), max_timestamp_ms, end_offset, wall_ms, config):
            segment = self._roll(base_offset, wall_ms)
        elif not segment.batches:
            segment.created_ms = wall_ms
            self._jobs.segment_began(self, wall_ms)
        elif self.is_size_watched and config.retention_bytes >= 0:
            self.is_size_watched = False
            self._jobs.grew(self, wall_ms)
        segment.add(stored, base_offset, max_timestamp_ms, wall_ms, config.index_interval_bytes)
        self.log_end_offset = end_offset + 1
        if self._times is not None:
            self._times.added(max_timestamp_ms)

    def _store_pending(self, batches: Iterator[DeferredBatch]) -> None:
        """Store batches at the offsets that they got when they were appended."""
        end, config = self.log_end_offset, self.config
        for batch, data in built(batches, self.partition.topic.cluster.timers.passes.on_error):
            self.log_end_offset = batch.base_offset
            self._put(data, len(batch.records) - 1, batch.wall_ms, batch.wall_ms, config)
        self.log_end_offset = end

    def _roll(self, base_offset: int, wall_ms: int) -> Segment:
        segment = self._active = self.segments[base_offset] = Segment(base_offset, wall_ms)
        if self._times is not None:
            self._times.rolled(segment)
        self._jobs.segment_began(self, wall_ms)
        return segment

    def _last_segment(self, offset: int) -> Segment:
        if not self.segments:
            self.segments[offset] = Segment(offset, 0)
        last: Segment = self.segments.values()[-1]
        return last

    def _start_at(self, offset: int) -> None:
        self.log_start_offset, self._times = offset, None
        self.epochs.cut_start(offset)
        self.producers.cut_start(offset)

    def _moved(self, now: Instant) -> None:
        """Compute high watermark and last stable offset after a change of the log, and call the waiters."""
        limit = self.high_watermark_limit
        self.high_watermark = self.log_end_offset if limit is None else min(limit, self.log_end_offset)
        first_unstable = self.producers.first_unstable_offset
        if first_unstable is not None:
            first_unstable = self.producers.replicated_until(self.high_watermark)
        self.last_stable_offset = (
            self.high_watermark if first_unstable is None else min(first_unstable, self.high_watermark)
        )
        self.wake(now)

    def wake(self, now: Instant) -> None:
        """Call the waiters, and count: the log, its leader, its replicas or its topic has changed."""
        self.partition.changes += 1
        if self.waiters:
            for wake in list(self.waiters.values()):
                wake(now)
