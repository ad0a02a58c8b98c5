"""Reading partitions for a Fetch: what each gives, the limits over all of them, and the long poll (FT).

Records are never decoded here: what is read are the stored batches themselves. Kafka: `ReplicaManager.fetchMessages`,
`ReplicaManager.readFromLog`, `DelayedFetch`.
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from fakebroker.broker.core.deadlines import Deadline, Timers
from fakebroker.broker.core.logs.aborted import aborted_in_read
from fakebroker.broker.core.logs.unloaded_segments import before_read, has_unloaded, is_unloaded_at
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import Pace

if TYPE_CHECKING:
    from fakebroker.broker.core.logs.log import PartitionLog
    from fakebroker.broker.core.topics import Partition
    from fakebroker.broker.core.topics_host import TopicsHost

CONSUMER_REPLICA_ID = -1  # of every client that is not a broker
NO_TOPIC_ID = bytes(16)
MANY_TARGETS = 1_000  # of a Fetch that waits: each takes 0.4 KB as long as it does
_NONE = ErrorCode.NONE  # each fetch asks for it: read from the class it costs as much as a call


# Classes with slots are made and read about three times as fast as named tuples; a fetch of one partition makes four.


@dataclass(slots=True, eq=False)
class PartitionFetch:
    """One partition of a request or session. Epochs below zero are not checked (KIP-320, FT-11, FT-13)."""

    topic: str  # "" while a topic id is not known
    topic_id: bytes  # zero when the request goes by names
    partition: int
    offset: int
    max_bytes: int
    leader_epoch: int = -1
    last_fetched_epoch: int = -1

    def at(self, offset: int) -> "PartitionFetch":
        """The same from another offset."""
        return PartitionFetch(
            self.topic,
            self.topic_id,
            self.partition,
            offset,
            self.max_bytes,
            self.leader_epoch,
            self.last_fetched_epoch,
        )


@dataclass(slots=True)
class FetchParams:
    """What holds for all partitions of one fetch, as Kafka's `FetchParams`."""

    node_id: int
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    read_committed: bool = False
    replica_id: int = CONSUMER_REPLICA_ID  # >= 0: the client says it is that broker (CLU-58)
    from_followers: bool = True  # whether a replica that does not lead may answer (CLU-52: v11+)
    hard_limits: bool = False  # whether max_bytes holds for the first batch, too (FT-30: v0-v2)
    rack: str = ""  # of the client, which then may be sent to a replica there (KIP-392, FT-18); "" for none
    takes_zstd: bool = True  # whether the client's version knows zstd (KIP-110, FT-17: v10+)

    @property
    def only_changes_count(self) -> bool:
        """Whether what a partition gives a reader at its end stays the same while `Partition.changes` does.

        Not for a client with a rack, where the replicas in sync decide as well, nor before v10, where the topic's
        compression does; a broker's fetch reads up to another end, and there are none here.
        """
        return self.replica_id < 0 and not self.rack and self.takes_zstd


@dataclass(slots=True, eq=False)
class LogReadResult:
    """What one partition gave. Offsets are -1 beside an error."""

    code: ErrorCode = ErrorCode.NONE
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    batches: Sequence[bytes] = ()
    diverging: tuple[int, int] | None = None  # (epoch, end offset), see FT-13
    aborted: list[tuple[int, int]] | None = None  # (producer id, first offset), None for read_uncommitted (FT-3)
    preferred_replica: int = -1  # the broker that the client should read from instead (KIP-392)
    changes: int = -1  # `Partition.changes` when it was read


FetchTarget = tuple[PartitionFetch, "Partition"]


@dataclass(slots=True, eq=False)
class ReadResult:
    """What all partitions gave, in the order of the targets."""

    reads: list[LogReadResult]
    size_bytes: int
    ends_wait: bool  # an error, a diverging epoch or a preferred replica (FT-5)


def read_all(cluster: "TopicsHost", targets: Sequence[FetchTarget], params: FetchParams) -> ReadResult:
    """Read every target within the byte limits of the fetch.

    The first partition with data gives at least its first batch, however large, unless `params.hard_limits`; for the
    others the limits are hard (KIP-74, FT-6, FT-7).
    """
    reads: list[LogReadResult] = []
    size_bytes = 0
    ends_wait = False
    at_least_one = not params.hard_limits
    max_bytes = room = params.max_bytes
    for fetch, partition in targets:
        limit = fetch.max_bytes
        read = read_partition(cluster, fetch, partition, params, limit if limit < room else room, at_least_one)
        reads.append(read)
        if read.batches:
            for batch in read.batches:
                size_bytes += len(batch)
            room = max_bytes - size_bytes if size_bytes < max_bytes else 0
            at_least_one = False
        elif read.code or read.diverging is not None or read.preferred_replica >= 0:
            ends_wait = True
    return ReadResult(reads, size_bytes, ends_wait)


def read_in_steps(
    cluster: "TopicsHost", targets: Sequence[FetchTarget], params: FetchParams, targets_per_step: int
) -> Generator[None, None, ReadResult]:
    """As `read_all`, with a pause after so many targets, or after one if that gave anything."""
    done, end = ReadResult([], 0, ends_wait=False), len(targets)
    for first in range(0, end, targets_per_step):
        some = read_all(cluster, targets[first : first + targets_per_step], params)
        done.reads += some.reads
        done.ends_wait |= some.ends_wait
        if some.size_bytes:
            done.size_bytes += some.size_bytes
            room = max(params.max_bytes - some.size_bytes, 0)
            params = replace(params, max_bytes=room, hard_limits=True)
        if some.size_bytes or targets_per_step > 1:
            yield
    return done


def is_any_unloaded(targets: Iterable[FetchTarget]) -> bool:
    """Whether a read would use segments that are not in memory (unloaded_segments.py)."""
    return any(_is_unloaded(fetch, partition) for fetch, partition in targets)


def _is_unloaded(fetch: PartitionFetch, partition: "Partition") -> bool:
    log = partition.used_log
    return log is not None and has_unloaded(log) and is_unloaded_at(log, fetch.offset)


def load_in_steps(
    cluster: "TopicsHost", targets: Iterable[FetchTarget], params: FetchParams, pace: Pace
) -> Generator[None, None, None]:
    """Load what a read of the targets uses. Raises KafkaError as `unloaded_segments.load` does."""
    for fetch, partition in targets:
        if not _is_unloaded(fetch, partition) or error_for_fetch(cluster, fetch, partition, params):
            continue
        if fetch.offset < last_fetchable_offset(partition.log, params):
            yield from before_read(partition.log, fetch.offset, pace)


def read_partition(
    cluster: "TopicsHost",
    fetch: PartitionFetch,
    partition: "Partition",
    params: FetchParams,
    max_bytes: int,
    at_least_one: bool = True,
) -> LogReadResult:
    """Read one partition: whole batches of at most `max_bytes`, or the error.

    With `at_least_one` the first batch may be larger than `max_bytes` (KIP-74).
    """
    code = error_for_fetch(cluster, fetch, partition, params)
    if code:
        return LogReadResult(code)
    log = partition.log
    if partition.stale_views and params.node_id in partition.stale_views:
        return _read_stale(partition, fetch, params, max_bytes)
    offset, end_offset = fetch.offset, log.log_end_offset
    diverging = None
    if fetch.last_fetched_epoch >= 0:
        diverging = log.epochs.end_of(fetch.last_fetched_epoch, end_offset)
        if diverging[0] < 0:
            return LogReadResult(ErrorCode.OFFSET_OUT_OF_RANGE)
        if diverging[0] == fetch.last_fetched_epoch and diverging[1] >= offset:
            diverging = None
    if diverging is None and not log.log_start_offset <= offset <= end_offset:
        return LogReadResult(ErrorCode.OFFSET_OUT_OF_RANGE)
    if max_bytes < 0:
        return LogReadResult(ErrorCode.UNKNOWN_SERVER_ERROR)  # as Kafka answers to limits below zero
    is_committed = params.read_committed
    end = log.last_fetchable_offset(is_consumer=params.replica_id < 0, read_committed=is_committed)
    batches: Sequence[bytes] = ()
    preferred = preferred_replica(cluster, partition, params) if params.rack else -1
    if diverging is None and preferred < 0 and offset < end:
        batches = log.read(offset, max_bytes, end, at_least_one=at_least_one)
    return LogReadResult(
        _NONE,
        log.high_watermark,
        log.last_stable_offset,
        log.log_start_offset,
        batches,
        diverging,
        aborted_in_read(log, offset, end, batches, max_bytes) if is_committed and diverging is None else None,
        preferred,
        partition.changes,
    )


def _read_stale(partition: "Partition", fetch: PartitionFetch, params: FetchParams, max_bytes: int) -> LogReadResult:
    """At a leader that was replaced and does not know: up to its old high watermark, or stable offset (CLU-44)."""
    log, seen = partition.log, partition.stale_views[params.node_id]
    offset, fetchable = fetch.offset, seen.last_stable_offset if params.read_committed else seen.high_watermark
    end = min(fetchable, log.log_end_offset)
    if not log.log_start_offset <= offset <= seen.log_end_offset:
        return LogReadResult(ErrorCode.OFFSET_OUT_OF_RANGE)
    batches = log.read(offset, max_bytes, end) if offset < end and max_bytes >= 0 else ()
    return LogReadResult(
        ErrorCode.NONE,
        seen.high_watermark,
        seen.last_stable_offset,
        log.log_start_offset,
        batches,
        aborted=aborted_in_read(log, offset, end, batches, max_bytes) if params.read_committed else None,
    )


def preferred_replica(cluster: "TopicsHost", partition: "Partition", params: FetchParams) -> int:
    """The first live follower in sync in the client's rack (KIP-392, CLU-56).

    -1 if there is none, if the leader is in that rack, or if this broker does not lead.
    """
    nodes = cluster.nodes
    if partition.leader != params.node_id or nodes[params.node_id].rack == params.rack:
        return -1
    return next((node_id for node_id in cluster.live(partition.isr) if nodes[node_id].rack == params.rack), -1)


def error_for_fetch(
    cluster: "TopicsHost", fetch: PartitionFetch, partition: "Partition", params: FetchParams
) -> ErrorCode:
    """The error for reading the partition at this node, or NONE.

    The order: whether the topic still exists under this id, `Partition.error_for_access`, and for a client that says
    it is a broker, whether that broker is a follower (CLU-53, CLU-58).
    """
    topic_id, fetched_id = partition.topic.id, fetch.topic_id
    if cluster.topics.by_id(topic_id) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if fetched_id != topic_id and fetched_id != NO_TOPIC_ID:
        return ErrorCode.INCONSISTENT_TOPIC_ID
    node_id, replica_id, epoch = params.node_id, params.replica_id, fetch.leader_epoch
    from_followers = params.from_followers and replica_id == CONSUMER_REPLICA_ID
    code = partition.error_for_access(node_id, epoch if epoch >= 0 else -1, only_leader=not from_followers)
    if code or replica_id < 0 or partition.leader != node_id:
        return code
    is_follower = replica_id != node_id and replica_id in partition.replicas
    return ErrorCode.NONE if is_follower else ErrorCode.NOT_LEADER_OR_FOLLOWER


def last_fetchable_offset(log: "PartitionLog", params: FetchParams) -> int:
    """The offset up to which this fetch may read."""
    return log.last_fetchable_offset(is_consumer=params.replica_id < 0, read_committed=params.read_committed)


def longest_wait_ms(cluster: "TopicsHost", asked_ms: int) -> int:
    """How long a fetch waits that asks for `asked_ms`: `fakebroker.fetch.max.wait.ms` bounds it."""
    return min(asked_ms, cluster.settings.get_int("fakebroker.fetch.max.wait.ms"))


class DelayedFetch:
    """A parked fetch: it ends when enough can be read, when something goes wrong, or when its time is up (FT-4, FT-5).

    It is registered in the `waiters` of its logs, and measures only the log that changed. `done` answers, and spends
    what that costs. Kafka: `DelayedFetch`.
    """

    __slots__ = (
        "_available",
        "_cluster",
        "_deadline",
        "_done",
        "_is_stopped",
        "_params",
        "_targets",
        "_timers",
        "_total",
    )

    def __init__(
        self,
        cluster: "TopicsHost",
        targets: Sequence[FetchTarget],
        params: FetchParams,
        done: Callable[[Instant], None],
    ) -> None:
        self._cluster = cluster
        self._targets = targets
        self._params = params
        self._done = done
        self._is_stopped = False
        self._timers: Timers = cluster.timers
        self._deadline = Deadline(self._end, self)
        self._available = [0] * len(targets)
        self._total = 0

    def begin(self, now: Instant, look_at: int) -> bool:
        """Start to wait. False if there is enough already: then nothing was started.

        `look_at` is how many targets, from the first on, may have something; of the others the caller knows that they
        have nothing.
        """
        if any(self._is_enough(index) for index in range(look_at)):
            self._deadline.end()
            return False
        for index, (_, partition) in enumerate(self._targets):
            partition.log.waiters[self] = partial(self._changed, index)
        wait_ms = longest_wait_ms(self._cluster, self._params.max_wait_ms)
        self._timers.mono.arm(self._deadline, now.mono_ms + wait_ms)
        return True

    def stop(self) -> None:
        """Stop for good: nobody waits for an answer any more."""
        self._is_stopped = True
        self._stop_waiting()

    def end_if_long(self, now: Instant) -> None:
        """End if it waits still, and for more than MANY_TARGETS."""
        if len(self._targets) > MANY_TARGETS:
            self._end(now)

    def _stop_waiting(self) -> None:
        """Disarm the timer, and leave the waiters of all logs."""
        self._deadline.end()
        targets, self._targets = self._targets, ()
        for _, partition in targets:
            partition.log.waiters.pop(self, None)

    def _changed(self, index: int, now: Instant) -> None:
        if index < len(self._targets) and self._is_enough(index):  # none are left when it was ended meanwhile
            self._end(now)

    def _end(self, now: Instant) -> None:
        """One record may end the waits of very many: they are not all answered in the turn that brought it."""
        self._stop_waiting()
        self._timers.passes.now_or_later(self._answer, now)

    def _answer(self, now: Instant) -> None:
        if not self._is_stopped:  # the client has not left meanwhile
            self._done(now)

    def _is_enough(self, index: int) -> bool:
        """Whether the fetch is over, after the log of the target at `index` has changed."""
        fetch, partition = self._targets[index]
        if error_for_fetch(self._cluster, fetch, partition, self._params):
            return True
        log = partition.log
        offset, end = fetch.offset, last_fetchable_offset(log, self._params)
        if not log.log_start_offset <= offset <= log.log_end_offset:
            return True
        if self._params.node_id in partition.stale_views:
            return False  # nothing new comes to a zombie before it learns of the new leader
        available = 0
        if offset < end:
            segments = log.segments
            if segments.bisect_right(offset) != segments.bisect_right(end):
                return True  # the rest of an older segment is answered at once (SE-2)
            available = min(log.readable_bytes(offset, end), fetch.max_bytes)
        self._total += available - self._available[index]
        self._available[index] = available
        return self._total >= self._params.min_bytes
