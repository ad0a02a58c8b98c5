"""Which groups a broker coordinates: those of the partitions of `__consumer_offsets` that it leads (FC-4).

Answers 14, 15 and 16 are decided here; groups never see them. Partitions are taken over when they are first asked
for, which nobody can tell from having loaded them at once: the log they are read from is the same.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from fakebroker.core.coordinator.loading import load_groups
from fakebroker.core.coordinator.shard import Shard
from fakebroker.core.deadlines import Deadline
from fakebroker.core.events import CoordinatorMoved
from fakebroker.core.java_hash import partition_of
from fakebroker.core.topics import CONSUMER_OFFSETS
from fakebroker.errors import ErrorCode, KafkaError, WireError
from fakebroker.instant import Instant

if TYPE_CHECKING:
    from fakebroker.core.cluster import Cluster
    from fakebroker.core.node import Node
    from fakebroker.core.topics import Partition, Topic

_partition_of = lru_cache(maxsize=1 << 16)(partition_of)


class GroupCoordinator:
    """What one broker knows of groups: a shard for each partition it owns and was asked for."""

    def __init__(self, cluster: "Cluster", node: "Node") -> None:
        self.cluster = cluster
        self.node = node
        self.shards: dict[int, Shard] = {}
        self._topic: Topic | None = None
        self._since = Instant(0, 0)  # when this broker first met the topic
        self._loads: dict[int, Deadline] = {}
        cluster.topics.on_deleted.append(self._on_topic_deleted)
        cluster.topics.on_leader_changed.append(self._on_leader_changed)

    # -- finding groups ------------------------------------------------------------------------------------------

    def partition_of(self, group_id: str, now: Instant) -> int:
        """The partition of `__consumer_offsets` that holds the group (FC-2); the topic is made if need be (FC-5)."""
        return _partition_of(group_id, len(self.topic(now).partitions))

    def shard(self, group_id: str, now: Instant) -> Shard:
        """Where the group lives on this broker. Raises KafkaError 14 (loading) or 16 (not here, CLU-5)."""
        topic = self._topic or self.topic(now)
        partition = _partition_of(group_id, len(topic.partitions))
        shard = self.shards.get(partition) or self._take_over(partition, now)
        if shard.refusal is not None:
            raise KafkaError(shard.refusal, f"{CONSUMER_OFFSETS}-{partition}: {shard.refusal.name}")
        return shard

    def all_shards(self, now: Instant) -> list[Shard]:
        """The shards of this broker that ever had a record, those that are loaded (LS-1)."""
        topic = self.cluster.topics.get(CONSUMER_OFFSETS)
        for partition in topic.partitions if topic is not None else ():
            if partition.leader == self.node.id and partition.has_log and partition.index not in self.shards:
                self._take_over(partition.index, now)
        shards = [self.shards[index] for index in sorted(self.shards)]
        return [shard for shard in shards if shard.refusal is None]

    @property
    def is_loading(self) -> bool:
        """Whether any partition is being read (LS-4)."""
        return bool(self._loads)

    def topic(self, now: Instant) -> "Topic":
        """`__consumer_offsets`, made at the first request (FC-5)."""
        if self._topic is None:
            self._topic = self.cluster.topics.internal(CONSUMER_OFFSETS)
            self._since = now
            for node in self.cluster.nodes.values():
                _ = node.coordinator  # exists from now on, to hear of leaders that change
        return self._topic

    # -- owning partitions (LD, ST-14) ---------------------------------------------------------------------------

    def load(self, partition: int, now: Instant, for_ms: int = 0) -> Shard:
        """Become the owner of a partition: read its log (LD-1). What was known of it before is forgotten (CLU-39).

        With `for_ms` the load takes that long, by the clock that watches over live clients; requests get 14 meanwhile.
        """
        return self._load(partition, now, for_ms, since=now)

    def _load(self, partition: int, now: Instant, for_ms: int, since: Instant) -> Shard:
        self.unload(partition, now)
        owned = self.topic(now).partitions[partition]
        is_new = not owned.has_log
        shard = self.shards[partition] = Shard(self.node, owned, since)
        if is_new and not for_ms:
            return shard
        self._tell(partition, "loading")
        if for_ms > 0:
            shard.refusal = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            deadline = self._loads[partition] = Deadline(lambda now: self._read(shard, now), owner=shard)
            self.cluster.timers.mono.arm(deadline, now.mono_ms + for_ms)
        else:
            self._read(shard, now)
        return shard

    def unload(self, partition: int, now: Instant) -> None:
        """Another broker owns the partition now: parked requests get 16, timers die, nothing stays here (ST-14)."""
        load = self._loads.pop(partition, None)
        if load is not None:
            load.disarm()
        shard = self.shards.pop(partition, None)
        if shard is not None:
            shard.unload(now)
            self._tell(partition, "unloaded")

    def restart(self, now: Instant) -> None:
        """The broker was stopped and started: what it knows of groups is what their logs say (LD-1)."""
        for partition in list(self.shards):
            self.load(partition, now)

    def _take_over(self, partition: int, now: Instant) -> Shard:
        """The first request for a partition that may be ours."""
        leader = self.topic(now).partitions[partition].leader
        if leader != self.node.id:
            raise KafkaError(ErrorCode.NOT_COORDINATOR, f"{CONSUMER_OFFSETS}-{partition} is led by {leader}")
        return self._load(partition, now, 0, self._since)

    def _read(self, shard: Shard, now: Instant) -> None:
        """Read the log; an unreadable record makes the load fail and all its groups unreachable (LD-5)."""
        self._loads.pop(shard.partition.index, None)
        try:
            load_groups(shard, now)
        except WireError as error:
            shard.refusal = ErrorCode.NOT_COORDINATOR
            self._tell(shard.partition.index, "failed", str(error))
        else:
            shard.refusal = None
            self._tell(shard.partition.index, "loaded")

    def _tell(self, partition: int, what: str, reason: str = "") -> None:
        self.cluster.outbox.append(CoordinatorMoved(partition, self.node.id, what, reason))

    def _on_topic_deleted(self, topic: "Topic", now: Instant) -> Iterator[int]:
        """Its offsets go (EX-12), shard by shard; with `__consumer_offsets` itself everything goes."""
        if topic is self._topic:
            for partition in list(self.shards):
                self.unload(partition, now)
            self._topic = None
        else:
            for index, shard in list(self.shards.items()):
                if self.shards.get(index) is shard:  # it may have been moved away between two steps
                    yield from shard.topic_deleted(topic.name, now)

    def _on_leader_changed(self, partition: "Partition", now: Instant) -> None:
        """A partition that another broker leads now is that one's to coordinate (CLU-3, CLU-31).

        The new leader reads the log at once, so that sessions begin anew at the move and not at the first request.
        """
        if partition.topic.name != CONSUMER_OFFSETS:
            return
        if partition.leader != self.node.id:
            self.unload(partition.index, now)
        elif partition.has_log:
            for node in self.cluster.nodes.values():
                node.coordinator.unload(partition.index, now)
            self.load(partition.index, now)
