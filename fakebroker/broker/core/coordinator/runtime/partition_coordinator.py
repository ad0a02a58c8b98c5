"""Who coordinates what: a broker does so for the partitions of an internal topic that it leads (FC-4).

COORDINATOR_LOAD_IN_PROGRESS and NOT_COORDINATOR are decided here; groups and transactions never see them.

Partitions are loaded lazily: when something of them is first asked for, not when the broker becomes their leader. No
client can tell the difference, because only the leader appends to the partition's log, so it says the same later.
The one exception is a partition that changes its leader while it has a log: the new leader loads it then, because
session timers of groups start at the load, and transactions that are ending go on (`leader_changed`).

A long log is loaded in turns, between which clients are served (process_steps.py).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from fakebroker.broker.core import long_passes
from fakebroker.broker.core.coordinator.runtime.coordinator_shard import CoordinatorShard
from fakebroker.broker.core.coordinator.runtime.host import CoordinatorHost, CoordinatorNode
from fakebroker.broker.core.coordinator.runtime.process_steps import ProcessSteps, Steps
from fakebroker.broker.core.events import MOVED, CoordinatorMoved
from fakebroker.broker.core.java_hash import partition_of
from fakebroker.broker.core.logs.whole_log import count_records
from fakebroker.protocol.errors import ErrorCode, KafkaError, WireError
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.core.topics import Partition, Topic

ShardT = TypeVar("ShardT", bound=CoordinatorShard)
NodeT = TypeVar("NodeT", bound=CoordinatorNode)


class PartitionCoordinator(ABC, Generic[ShardT, NodeT]):
    """A coordinator of one broker: a shard for each partition that it leads and has been asked for."""

    topic_name: ClassVar[str]
    """The internal topic whose partitions are coordinated."""

    def __init__(self, cluster: CoordinatorHost, node: NodeT) -> None:
        self.cluster = cluster
        self.node = node
        self.shards: dict[int, ShardT] = {}
        self._topic: Topic | None = None
        self._since = Instant(0, 0)  # when this broker was first asked
        self._loads: dict[int, ProcessSteps] = {}
        cluster.topics.on_deleted.append(self._on_topic_deleted)
        cluster.topics.on_leader_changed.append(self.leader_changed)

    @abstractmethod
    def _new_shard(self, partition: "Partition", since: Instant) -> ShardT:
        """A shard where nothing is known yet; its periodic passes run at whole intervals from `since`."""

    @abstractmethod
    def _fill(self, shard: ShardT) -> Steps:
        """Fill a shard from its log, in steps. Raises WireError naming the record that cannot be read (LD-5)."""

    def _forget_topic(self, shard: ShardT, topic: "Topic", now: Instant) -> Iterator[int]:  # noqa: ARG002
        """Another topic was deleted: forget what a shard has of it, in steps."""
        yield from ()

    # -- finding shards ------------------------------------------------------------------------------------------

    def shard(self, key: str, now: Instant) -> ShardT:
        """The shard that holds `key`, a group id or transactional id, loaded if need be.

        Raises KafkaError: COORDINATOR_LOAD_IN_PROGRESS during a slow load, NOT_COORDINATOR if another broker leads the
        partition (CLU-5) or its log could not be read (LD-5), COORDINATOR_NOT_AVAILABLE if the topic cannot be made.
        """
        topic = self._topic or self._ensure_topic(now)
        partition = partition_of(key, len(topic.partitions))
        shard = self.shards.get(partition) or self._load_if_leader(partition, now)
        if shard.unavailable_code is not None:
            code = shard.unavailable_code
            raise KafkaError(code, f"{self.topic_name}-{partition}: {code.name}")
        return shard

    def loaded_shard(self, key: str) -> ShardT | None:
        """The shard that holds `key`, if it is loaded and serves; nothing is loaded here."""
        if self._topic is None:
            return None
        shard = self.shards.get(partition_of(key, len(self._topic.partitions)))
        return shard if shard is not None and shard.unavailable_code is None else None

    def all_shards(self, now: Instant) -> list[ShardT]:
        """The shards of this broker by partition: those that ever had a record, without those being loaded (LS-1)."""
        topic = self.cluster.topics.get(self.topic_name)
        for partition in topic.partitions if topic is not None else ():
            if partition.leader == self.node.id and partition.has_log and partition.index not in self.shards:
                self._load_if_leader(partition.index, now)
        shards = [self.shards[index] for index in sorted(self.shards)]
        return [shard for shard in shards if shard.unavailable_code is None]

    @property
    def is_loading(self) -> bool:
        """Whether any partition is being loaded (LS-4, DX-4)."""
        return bool(self._loads)

    def wall_time_went_back(self, by_ms: int, now: Instant) -> None:
        """The time of day was set back by `by_ms` to `now`: periodic passes come as soon as they would have."""
        self._since = Instant(self._since.wall_ms - by_ms, self._since.mono_ms)
        for shard in self.shards.values():
            shard.wall_time_went_back(by_ms, now)

    def _ensure_topic(self, now: Instant) -> "Topic":
        """The internal topic, created if it does not exist yet (FC-5); notes the time of the first call."""
        if self._topic is None:
            self._topic = self.cluster.topics.internal(self.topic_name)
            self._since = now
        return self._topic

    # -- loading and unloading (LD, ST-14) ---------------------------------------------------------------------------

    def load(self, partition: int, now: Instant, for_ms: int = 0) -> ShardT:
        """Load a partition at once: read its log (LD-1). What was known of it before is forgotten (CLU-39).

        With `for_ms` the load begins to read only then, by the monotonic clock; requests are answered with
        COORDINATOR_LOAD_IN_PROGRESS meanwhile.
        """
        return self._load(partition, now, for_ms, since=now)

    def _load(
        self, partition: int, now: Instant, for_ms: int, since: Instant, *, long_ones_in_turns: bool = False
    ) -> ShardT:
        self.unload(partition, now, "its coordinator reloads its log")
        log_partition = self._ensure_topic(now).partitions[partition]
        is_new = not log_partition.has_log
        shard = self.shards[partition] = self._new_shard(log_partition, since)
        view = log_partition.stale_views.get(self.node.id)
        if view is not None:
            shard.strand(view)
        if is_new and not for_ms:
            return shard
        self._emit(partition, "loading")
        self.cluster.topics.load_begins(log_partition)
        if for_ms > 0 or (long_ones_in_turns and not self._is_short(log_partition, now)):
            shard.unavailable_code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            load = self._loads[partition] = ProcessSteps(shard, self._read(shard))
            load.begin(now.mono_ms + for_ms)
        else:
            self.cluster.timers.passes.finish(self._read(shard), now)
        return shard

    def _is_short(self, partition: "Partition", now: Instant) -> bool:
        """Whether a log is short enough to be read at once, after what was read at this moment already."""
        records = count_records(partition.log, long_passes.AT_ONCE)
        return self.cluster.timers.passes.may_be_done_at_once(records, now)

    def unload(self, partition: int, now: Instant, reason: str = MOVED) -> None:
        """Forget a partition, if it is loaded, because another broker coordinates it now (ST-14)."""
        load = self._loads.pop(partition, None)
        if load is not None:
            load.end()
        shard = self.shards.pop(partition, None)
        if shard is not None:
            shard.unload(now, reason)
            self._emit(partition, "unloaded")

    def restart(self, now: Instant) -> None:
        """The broker was stopped and started: load every partition again from its log (LD-1)."""
        for partition in list(self.shards):
            self.load(partition, now)

    def _load_if_leader(self, partition: int, now: Instant) -> ShardT:
        """Load a partition at the first request for it. Raises KafkaError NOT_COORDINATOR if another broker leads it.

        Periodic passes run as if it had been loaded when this broker was first asked for anything (`since`).
        """
        leader = self._ensure_topic(now).partitions[partition].seen_by(self.node.id).leader
        if leader != self.node.id or not self.node.has_process:
            raise KafkaError(ErrorCode.NOT_COORDINATOR, f"{self.topic_name}-the leader of {partition} is {leader}")
        return self._load(partition, now, 0, self._since, long_ones_in_turns=True)

    def _read(self, shard: ShardT) -> Steps:
        """Read the log, in steps, and end the load; `passes` knows the time of each.

        If a record cannot be read, everything of the partition is answered NOT_COORDINATOR until a load succeeds
        (LD-5).
        """
        try:
            yield from self._fill(shard)
        except WireError as error:
            self._end_load(shard, ErrorCode.NOT_COORDINATOR, "failed", str(error))
        else:
            yield from self._catch_up(shard)
            self._end_load(shard, None, "loaded")

    def _catch_up(self, shard: ShardT) -> Steps:
        """Forget topics whose deletion began before the load or during it, in steps.

        Whoever goes from shard to shard for a deletion has left out those that were loading, and may have been with
        this broker already when it was not yet with the one that the partition comes from.
        """
        unforgotten = self.cluster.topics.unforgotten
        for topic in unforgotten.get(shard.partition, ()):  # grows meanwhile
            for _ in self._forget_topic(shard, topic, self.cluster.timers.passes.now):
                yield
        unforgotten.pop(shard.partition, None)

    def _end_load(self, shard: ShardT, code: ErrorCode | None, what: str, reason: str = "") -> None:
        index = shard.partition.index
        if self.shards.get(index) is shard:  # else it was unloaded in its own last step
            self._loads.pop(index, None)
            shard.unavailable_code = code
            self._emit(index, what, reason)

    def _emit(self, partition: int, what: str, reason: str = "") -> None:
        self.cluster.outbox.append(CoordinatorMoved(partition, self.node.id, what, reason, self.topic_name))

    def _on_topic_deleted(self, topic: "Topic", now: Instant) -> Iterator[int]:
        """Forget what is known of a deleted topic, in steps: all, if it is the internal topic itself."""
        if topic is self._topic:
            for partition in list(self.shards):
                self.unload(partition, now)
            self._topic = None
            return
        for index, shard in list(self.shards.items()):
            if index in self._loads:
                self.cluster.topics.forget_after_load(topic, shard.partition)
            elif self.shards.get(index) is shard:  # it may have been moved away between two steps
                yield from self._forget_topic(shard, topic, now)

    def unload_all(self, now: Instant) -> None:
        """The broker's process has ended: what its memory had is gone."""
        for partition in list(self.shards):
            self.unload(partition, now, "its coordinator was killed")

    def retire(self) -> None:
        """The broker is taken out of the cluster."""
        self.cluster.topics.on_deleted.remove(self._on_topic_deleted)
        self.cluster.topics.on_leader_changed.remove(self.leader_changed)

    def leader_changed(self, partition: "Partition", now: Instant) -> None:
        """Unload a partition of the topic that this broker lost, load one that it leads now (CLU-3, CLU-31).

        Every coordinator is called, in the order of the nodes. The new leader's may come before the former leader's, so
        it lets all others unload first: the journal then reads unloaded, loading, loaded. It loads then, not at the
        first request, so that timers start at the move. A broker that does not hear of it goes on with what it has, but
        what it writes from now on is lost (CLU-42).
        """
        if partition.topic.name != self.topic_name:
            return
        if self.node.id in partition.stale_views:
            if partition.index in self.shards:
                self.shards[partition.index].strand(partition.stale_views[self.node.id])
        elif partition.leader != self.node.id:
            self.unload(partition.index, now)
        elif partition.has_log and self.node.has_process:
            for node in self.cluster.nodes.values():
                if node.id not in partition.stale_views:
                    self._unload_on(node, partition.index, now)
            for_ms = self.node.settings.get_int("fakebroker.coordinator.load.ms")
            self._load(partition.index, now, for_ms, since=now, long_ones_in_turns=True)

    def _unload_on(self, node: CoordinatorNode, partition: int, now: Instant) -> None:
        """Unload a partition on any broker; its coordinator of this kind may not be made yet."""
        for coordinator in node.coordinators:
            if coordinator.topic_name == self.topic_name:
                coordinator.unload(partition, now)
