"""Reading partitions for a Fetch: what each gives, the limits over all of them, and the long poll (FT).

Records are never decoded here: what is read are the stored batches themselves.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from fakebroker.core.deadlines import Deadline, Timers
from fakebroker.errors import ErrorCode
from fakebroker.instant import Instant

if TYPE_CHECKING:
    from fakebroker.core.cluster import Cluster
    from fakebroker.core.logs.log import PartitionLog
    from fakebroker.core.topics import Partition


class Asked(NamedTuple):
    """One partition as a request or a session asks for it. Epochs below zero are not checked (FT-11, FT-13)."""

    topic: str  # "" while a topic id is not known
    topic_id: bytes  # zero when the request goes by names
    partition: int
    offset: int
    max_bytes: int
    leader_epoch: int = -1
    last_fetched_epoch: int = -1


class FetchTerms(NamedTuple):
    """What holds for all partitions of one fetch."""

    node_id: int
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    read_committed: bool = False
    replica_id: int = -1  # >= 0: a broker pretends to ask (CLU-58)
    from_followers: bool = True  # whether a replica that does not lead may answer (CLU-52: v11+)
    hard_limits: bool = False  # whether limits hold for the first batch, too (FT-30: v0-v2)
    rack: str = ""  # where the client would like to read; "" leaves it where it is (FT-18)


class Read(NamedTuple):
    """What one partition gave. Offsets are -1 beside an error."""

    code: ErrorCode = ErrorCode.NONE
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    batches: Sequence[bytes] = ()
    diverging: tuple[int, int] | None = None  # (epoch, end offset), see FT-13
    aborted: list[tuple[int, int]] | None = None  # (producer id, first offset), None for read_uncommitted (FT-3)
    preferred_replica: int = -1  # the broker to read from in place of this one


Servable = tuple[Asked, "Partition"]


class ReadAll(NamedTuple):
    """What all partitions gave, in the order asked for."""

    reads: list[Read]
    size_bytes: int
    ends_wait: bool  # an error, a diverging epoch or a preferred replica (FT-5)


def read_all(cluster: "Cluster", servable: Sequence[Servable], terms: FetchTerms) -> ReadAll:
    """Read every partition within the limits of the fetch.

    The first partition with data gives at least its first batch; behind it limits are hard (FT-6, FT-7).
    """
    reads: list[Read] = []
    size_bytes = 0
    ends_wait = False
    at_least_one = not terms.hard_limits
    room = terms.max_bytes
    for asked, partition_ in servable:
        read = read_partition(cluster, asked, partition_, terms, min(asked.max_bytes, room), at_least_one)
        reads.append(read)
        if read.batches:
            size_bytes += sum(map(len, read.batches))
            room = max(terms.max_bytes - size_bytes, 0)
            at_least_one = False
        elif read.code or read.diverging is not None or read.preferred_replica >= 0:
            ends_wait = True
    return ReadAll(reads, size_bytes, ends_wait)


def read_partition(
    cluster: "Cluster",
    asked: Asked,
    partition_: "Partition",
    terms: FetchTerms,
    max_bytes: int,
    at_least_one: bool = True,
) -> Read:
    """One partition: batches that fit into `max_bytes`, or the error that reading it meets."""
    code = refusal(cluster, asked, partition_, terms)
    if code:
        return Read(code)
    log = partition_.log
    offset, end_offset = asked.offset, log.log_end_offset
    diverging = None
    if asked.last_fetched_epoch >= 0:
        diverging = log.epochs.end_of(asked.last_fetched_epoch, end_offset)
        if diverging[0] < 0:
            return Read(ErrorCode.OFFSET_OUT_OF_RANGE)
        if diverging[0] == asked.last_fetched_epoch and diverging[1] >= offset:
            diverging = None
    if diverging is None and not log.log_start_offset <= offset <= end_offset:
        return Read(ErrorCode.OFFSET_OUT_OF_RANGE)
    if max_bytes < 0:
        return Read(ErrorCode.UNKNOWN_SERVER_ERROR)  # as Kafka answers to limits below zero
    end = readable_end(log, terms)
    batches: Sequence[bytes] = ()
    preferred = preferred_replica(cluster, partition_, terms) if terms.rack else -1
    if diverging is None and preferred < 0 and offset < end:
        batches = log.read(offset, max_bytes, end, at_least_one=at_least_one)
    return Read(
        ErrorCode.NONE,
        log.high_watermark,
        log.last_stable_offset,
        log.log_start_offset,
        batches,
        diverging,
        [] if terms.read_committed and diverging is None else None,
        preferred,
    )


def preferred_replica(cluster: "Cluster", partition_: "Partition", terms: FetchTerms) -> int:
    """The first live follower in the client's rack, -1 if the leader is there too; only leaders say so (CLU-56)."""
    nodes = cluster.nodes
    if partition_.leader != terms.node_id or nodes[terms.node_id].rack == terms.rack:
        return -1
    return next((node_id for node_id in cluster.live(partition_.isr) if nodes[node_id].rack == terms.rack), -1)


def refusal(cluster: "Cluster", asked: Asked, partition_: "Partition", terms: FetchTerms) -> ErrorCode:
    """Why this node does not serve the partition, or NONE.

    In this order: the topic is gone, no replica here, leader epoch, leadership (CLU-53).
    """
    topics = cluster.topics
    if topics.by_id(partition_.topic.id) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if asked.topic_id != partition_.topic.id and any(asked.topic_id):
        return ErrorCode.INCONSISTENT_TOPIC_ID
    node_id = terms.node_id
    if node_id not in partition_.replicas:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    epoch = partition_.leader_epoch
    if asked.leader_epoch >= 0 and asked.leader_epoch != epoch:
        return ErrorCode.FENCED_LEADER_EPOCH if asked.leader_epoch < epoch else ErrorCode.UNKNOWN_LEADER_EPOCH
    if partition_.leader != node_id:
        if not terms.from_followers or terms.replica_id != -1:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
    elif terms.replica_id >= 0 and (terms.replica_id == node_id or terms.replica_id not in partition_.replicas):
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return ErrorCode.NONE


def readable_end(log: "PartitionLog", terms: FetchTerms) -> int:
    """The offset up to which this fetch may read (FT-14, CLU-58)."""
    if terms.replica_id >= 0:
        return log.log_end_offset
    return log.last_stable_offset if terms.read_committed else log.high_watermark


class WaitingFetch:
    """A parked fetch: it ends when enough can be read, when something goes wrong, or when its time is up (FT-4, FT-5).

    It sits in the waiters of its logs and looks only at the one that changed.
    """

    __slots__ = ("_available", "_cluster", "_deadline", "_done", "_servable", "_terms", "_timers", "_total")

    def __init__(
        self,
        cluster: "Cluster",
        servable: Sequence[Servable],
        terms: FetchTerms,
        done: Callable[[Instant], None],
    ) -> None:
        self._cluster = cluster
        self._servable = servable
        self._terms = terms
        self._done = done
        self._timers: Timers = cluster.timers
        self._deadline = Deadline(self._end, self)
        self._available = [0] * len(servable)
        self._total = 0

    def begin(self, now: Instant) -> bool:
        """Start to wait; False if there is enough already, then nothing was started."""
        if any(self._is_enough(place) for place in range(len(self._servable))):
            self._deadline.end()
            return False
        for place, (_, partition_) in enumerate(self._servable):
            partition_.log.waiters[self] = partial(self._changed, place)
        self._timers.mono.arm(self._deadline, now.mono_ms + self._terms.max_wait_ms)
        return True

    def stop(self) -> None:
        """Stop waiting for good: no timer and no log knows of it any more."""
        self._deadline.end()
        for _, partition_ in self._servable:
            partition_.log.waiters.pop(self, None)

    def _changed(self, place: int, now: Instant) -> None:
        if self._is_enough(place):
            self._end(now)

    def _end(self, now: Instant) -> None:
        self.stop()
        self._done(now)

    def _is_enough(self, place: int) -> bool:
        """Whether the fetch is over, after the log at `place` has changed."""
        asked, partition_ = self._servable[place]
        if refusal(self._cluster, asked, partition_, self._terms):
            return True
        log = partition_.log
        offset, end = asked.offset, readable_end(log, self._terms)
        if not log.log_start_offset <= offset <= log.log_end_offset:
            return True
        available = 0
        if offset < end:
            segments = log.segments
            if segments.bisect_right(offset) != segments.bisect_right(end):
                return True  # a rest of an older segment is handed out at once (SE-2)
            available = min(log.readable_bytes(offset, end), asked.max_bytes)
        self._total += available - self._available[place]
        self._available[place] = available
        return self._total >= self._terms.min_bytes
