"""A share fetch: it waits until records can be acquired, then acquires them of each partition in turn (SGF).

Kafka: `ShareFetch`, `DelayedShareFetch`, `ShareFetchUtils`.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from fakebroker.broker.core.deadlines import Deadline
from fakebroker.broker.core.logs.fetching import (
    FetchParams,
    LogReadResult,
    PartitionFetch,
    longest_wait_ms,
    read_partition,
)
from fakebroker.broker.core.logs.unloaded_segments import (
    BATCHES_PER_STEP,
    before_read,
    has_unloaded,
    is_unloaded_at,
)
from fakebroker.broker.core.share_partitions.acquisition import Acquired, AcquireMode, Acquisition, BatchSpan
from fakebroker.broker.core.share_partitions.sessions import TopicIdPartition
from fakebroker.broker.core.share_partitions.share_partition import SharePartition
from fakebroker.broker.core.share_state.states import SharePartition as SharePartitionKey
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.records.batch import BatchHeader, parse_header, peek

if TYPE_CHECKING:
    from fakebroker.broker.core.share_partitions.share_partition_manager import SharePartitionManager
    from fakebroker.broker.core.topics import Partition


class ShareFetchParams(NamedTuple):
    """What holds for all partitions of one share fetch."""

    group_id: str
    member_id: str
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    max_records: int
    batch_size: int
    mode: AcquireMode


class FetchedRecords(NamedTuple):
    """What one partition gave: whole batches, and what of them was acquired."""

    code: ErrorCode
    batches: Sequence[bytes] = ()
    acquired: Sequence[Acquired] = ()


PARTITIONS_PER_STEP: Final = 500
COST_OF_PARTITION: Final = 5  # see long_passes.TURN_COST
_AT_ONCE: Final = 1 << 62  # bytes, in place of a size: the fetch is answered, however much it wants

Answer = Callable[[dict[TopicIdPartition, FetchedRecords], Instant], None]
"""Gets what was read of each partition that could be read, or its error."""


class ShareFetch:
    """One share fetch. It registers in the `waiters` of logs and share partitions while it waits (SGF-16).

    Share partitions that are dropped meanwhile give nothing and end no wait, as in Kafka. Whether there is enough is
    asked whenever one of them has changed, and only those that have are measured again: there may be thousands. So its
    work is done in steps (`LongPasses.begin`).
    """

    def __init__(
        self,
        manager: "SharePartitionManager",
        params: ShareFetchParams,
        targets: "Sequence[tuple[TopicIdPartition, Partition]]",
        answer: Answer,
    ) -> None:
        """`targets` are in the order in which they are served."""
        self._manager = manager
        self._node = manager.node
        self._params = params
        self._targets = targets
        self._answer = answer
        self._found: dict[TopicIdPartition, FetchedRecords] = {}  # errors, until it is answered
        self._loaded: dict[TopicIdPartition, SharePartition] = {}
        self._changed: dict[SharePartition, None] = {}  # since they were measured
        self._sizes: dict[SharePartition, int] = {}  # bytes that could be read, of those that may have something
        self._size_bytes = 0  # of all of them
        self._measured_by: object = None  # the settings of the group that count
        self._deadline = Deadline(self._time_is_up, self)
        self._has_begun = self._is_over = self._is_put_off = False
        self._passes = self._node.cluster.timers.passes

    def begin(self, now: Instant) -> None:
        """Load what is not in memory, and acquire or wait."""
        self._passes.begin(self._begin_in_steps(), self._begun, now)

    def _begin_in_steps(self) -> Generator[None, None, bool]:
        """Returns whether there is something to wait for."""
        pace, is_any_served = self._passes.pace(PARTITIONS_PER_STEP), False
        for key, partition in self._targets:
            code = self._error_for_access(partition)
            if code:
                self._found[key] = FetchedRecords(code)
            elif partition.topic.exists:  # one that is deleted meanwhile gives nothing
                is_any_served = True
                self._load(key, partition, self._passes.now)
            if pace.is_over():
                self._is_enough()  # measures those that were loaded
                yield
                if self._is_over:
                    break
        return is_any_served

    def _begun(self, is_any_served: bool, now: Instant) -> None:
        self._has_begun = True
        if not is_any_served or self._params.max_wait_ms <= 0:
            self._complete(now)
            return
        self._try(now)
        if not self._is_over:
            cluster = self._node.cluster
            cluster.timers.mono.arm(self._deadline, now.mono_ms + longest_wait_ms(cluster, self._params.max_wait_ms))

    def stop(self) -> None:
        """Stop waiting for good; nothing is answered any more."""
        self._end()
        for share_partition in self._loaded.values():
            self._leave(share_partition)

    def _end(self) -> None:
        self._is_over = True
        self._deadline.end()

    def _leave(self, share_partition: SharePartition) -> None:
        share_partition.waiters.pop(self, None)
        log = share_partition.partition.used_log
        if log is not None:
            log.waiters.pop(self, None)

    def _load(self, key: TopicIdPartition, partition: "Partition", now: Instant) -> None:
        share_partition = self._manager.get_or_make(SharePartitionKey(self._params.group_id, *key), partition)

        def loaded(code: ErrorCode, now: Instant) -> None:
            if code:
                self._manager.drop(share_partition)
                self._found[key] = FetchedRecords(code)
            elif not self._is_over and not share_partition.is_ended:
                self._loaded[key] = share_partition
                share_partition.waiters[self] = None
                partition.log.waiters[self] = partial(self.look, share_partition)
                self.changed(share_partition)
                if self._has_begun:
                    self._try(now)

        share_partition.load(loaded, now)

    def _error_for_access(self, partition: "Partition") -> ErrorCode:
        """Why this broker may not serve the partition as its leader, or NONE."""
        code = partition.error_for_access(self._node.id)
        return ErrorCode.NOT_LEADER_OR_FOLLOWER if self._node.id in partition.stale_views else code

    def changed(self, share_partition: SharePartition) -> None:
        """See Waiter."""
        self._changed[share_partition] = None

    def look(self, share_partition: SharePartition, now: Instant) -> None:
        """See Waiter."""
        self.changed(share_partition)
        self._try(now)

    def _time_is_up(self, now: Instant) -> None:
        if self._node.is_running:
            self._complete(now)
        else:
            self._node.run_when_thawed(Deadline(self._time_is_up, self), now)

    def _try(self, now: Instant) -> None:
        """Complete if enough can be acquired, or if something is wrong (SGF-15).

        One record may be enough for very many: they are not all answered in the turn that brought it.
        """
        if self._has_begun and not self._is_over and not self._is_put_off and self._is_enough():
            self._is_put_off = True
            self._passes.now_or_later(self._try_again, now)

    def _try_again(self, now: Instant) -> None:
        """It has its turn: others may have acquired meanwhile what there was."""
        self._is_put_off = False
        if not self._is_over and self._is_enough():
            self._complete(now)

    def _is_enough(self) -> bool:
        settings = next((each.settings.of_waiting for each in self._loaded.values()), None)  # all are of one group
        if settings != self._measured_by:
            self._measured_by = settings
            self._changed = dict.fromkeys(self._loaded.values())
        changed, self._changed = self._changed, {}
        for share_partition in changed:
            self._measure(share_partition)
        return bool(self._sizes) and self._size_bytes >= self._params.min_bytes

    def _measure(self, share_partition: SharePartition) -> None:
        self._size_bytes -= self._sizes.pop(share_partition, 0)
        if share_partition.can_acquire:
            self._sizes[share_partition] = size_bytes = self._readable_bytes(share_partition)
            self._size_bytes += size_bytes

    def _readable_bytes(self, share_partition: SharePartition) -> int:
        """How much could be read now, or _AT_ONCE."""
        log, window = share_partition.partition.log, share_partition.window
        assert window is not None
        offset = share_partition.fetch_offset
        committed = share_partition.settings.is_read_committed
        end = log.last_fetchable_offset(is_consumer=True, read_committed=committed)
        if not log.log_start_offset <= offset <= log.log_end_offset:
            return _AT_ONCE
        if offset >= end:
            return 0
        if log.segments.bisect_right(offset) != log.segments.bisect_right(end):
            return _AT_ONCE  # the rest of an older segment is answered at once (SE-2)
        return min(log.readable_bytes(offset, end), self._params.max_bytes)

    def _complete(self, now: Instant) -> None:
        """Acquire what there is, answer, and let others look at what remains."""
        if not self._is_over:
            self._end()
            self._passes.begin(self._complete_in_steps(), lambda _nothing, _now: None, now)
            self._passes.spend(COST_OF_PARTITION * len(self._loaded))

    def _complete_in_steps(self) -> Generator[None, None, None]:
        acquirable, pace = list[tuple[TopicIdPartition, SharePartition]](), self._passes.pace(PARTITIONS_PER_STEP)
        for key, share_partition in self._loaded.items():
            self._leave(share_partition)
            if share_partition.can_acquire:
                acquirable.append((key, share_partition))
            if pace.is_over():
                yield
        yield from self._acquire_in_steps(acquirable, pace)
        self._answer(self._found, self._passes.now)
        for _, share_partition in acquirable:
            share_partition.wake(self._passes.now)
            if pace.is_over():
                yield

    def _acquire_in_steps(
        self, acquirable: Sequence[tuple[TopicIdPartition, SharePartition]], pace: Pace
    ) -> Generator[None, None, None]:
        """What each gives goes to `_found`; one that is dropped meanwhile gives nothing."""
        left, room, loading = self._params.max_records, self._params.max_bytes, self._passes.pace(BATCHES_PER_STEP)
        for key, share_partition in acquirable:
            if not share_partition.is_ended and has_unloaded(share_partition.partition.log):
                yield from self._load_records(share_partition, loading)
            if share_partition.is_ended:
                continue
            limit = min(room, self._params.max_bytes // len(acquirable))
            found = self._acquired(share_partition, left, limit, room == self._params.max_bytes)
            self._found[key] = found
            left -= sum(each.records for each in found.acquired)
            room = max(room - sum(map(len, found.batches)), 0)
            if pace.is_over():
                yield

    def _load_records(self, share_partition: SharePartition, pace: Pace) -> Generator[None, None, None]:
        """Load what is to be read next; a file that cannot be read is the error of the read itself."""
        log = share_partition.partition.log
        with suppress(KafkaError):
            while has_unloaded(log) and not share_partition.is_ended:
                offset = share_partition.fetch_offset
                if not is_unloaded_at(log, offset):
                    break
                yield from before_read(log, offset, pace)

    def _acquired(
        self, share_partition: SharePartition, left: int, max_bytes: int, at_least_one: bool
    ) -> FetchedRecords:
        """As `_acquire`, or the error of a stored batch that a test corrupted: what others gave is answered."""
        try:
            return self._acquire(share_partition, left, max_bytes, at_least_one, self._passes.now)
        except KafkaError as error:
            return FetchedRecords(error.code)

    def _acquire(
        self, share_partition: SharePartition, left: int, max_bytes: int, at_least_one: bool, now: Instant
    ) -> FetchedRecords:
        """Read one partition and acquire what is free of it. `left` is how many records the request still may have.

        A batch of which only the beginning fits gives nothing. As in Kafka its beginning is sent all the same when only
        one whole batch is before it, and else cut off (SGF-18).
        """
        window = share_partition.window
        assert window is not None
        offset, partition = share_partition.fetch_offset, share_partition.partition
        read = self._read(share_partition, offset, max_bytes, at_least_one)
        if read.code == ErrorCode.OFFSET_OUT_OF_RANGE:
            share_partition.log_starts_at(partition.log.log_start_offset, now)
            return FetchedRecords(ErrorCode.NONE)
        if read.code:
            return FetchedRecords(read.code)
        is_cut = bool(read.batches) and peek(read.batches[-1]) is None
        whole = read.batches[:-1] if is_cut else read.batches
        headers = _headers_until(whole, window.end_offset, left)
        spans = [BatchSpan(header.base_offset, header.last_offset) for header in headers]
        aborted = _aborted_spans(headers, read.aborted or ())
        params = self._params
        wanted = Acquisition(params.member_id, params.mode, left, params.batch_size)
        acquired = share_partition.acquire(wanted, offset, spans, aborted, now)
        if not acquired:
            return FetchedRecords(ErrorCode.NONE)
        if len(whole) == 1:
            return FetchedRecords(ErrorCode.NONE, read.batches, acquired)
        first, last = acquired[0].first_offset, acquired[-1].last_offset
        batches = [
            batch
            for batch, span in zip(whole, spans, strict=False)
            if span.last_offset >= first and span.base_offset <= last
        ]
        return FetchedRecords(ErrorCode.NONE, batches, acquired)

    def _read(self, share_partition: SharePartition, offset: int, max_bytes: int, at_least_one: bool) -> LogReadResult:
        partition, params = share_partition.partition, self._params
        topic = partition.topic
        fetch = PartitionFetch(topic.name, topic.id, partition.index, offset, max_bytes)
        fetch_params = FetchParams(
            node_id=self._node.id,
            max_wait_ms=params.max_wait_ms,
            min_bytes=params.min_bytes,
            max_bytes=params.max_bytes,
            read_committed=share_partition.settings.is_read_committed,
            from_followers=False,
        )
        return read_partition(self._node.cluster, fetch, partition, fetch_params, max_bytes, at_least_one)


def _headers_until(batches: Sequence[bytes], known_end: int, records: int) -> list[BatchHeader]:
    """The headers of the batches that an acquisition of so many records can come to.

    These are the batches up to the one with the last of them, counted from behind what is known (`known_end`) or read
    first: a member that lags has very many behind that, and acquires nothing of them.
    """
    headers: list[BatchHeader] = []
    for batch in batches:
        headers.append(parse_header(batch))
        if headers[-1].last_offset >= max(known_end, headers[0].base_offset) + records:
            break
    return headers


def _aborted_spans(headers: Sequence[BatchHeader], aborted: Sequence[tuple[int, int]]) -> list[BatchSpan]:
    """The batches that belong to aborted transactions, given as (producer id, first offset) (SGP-10)."""
    spans: list[BatchSpan] = []
    waiting = sorted(aborted, key=lambda each: each[1])
    producers: dict[int, None] = {}
    for header in headers:
        while waiting and waiting[0][1] <= header.last_offset:
            producers[waiting.pop(0)[0]] = None
        if header.producer_id in producers and header.is_transactional:
            if header.is_control:
                del producers[header.producer_id]
            else:
                spans.append(BatchSpan(header.base_offset, header.last_offset))
    return spans
