"""A consumer group without a network: heartbeats with short names, time that is driven, records as it wrote them."""

from collections.abc import Mapping, Sequence
from typing import Any

from fakebroker.broker.core.coordinator.shard import Shard
from fakebroker.broker.core.groups.consumer.consumer_group import ConsumerGroup
from fakebroker.broker.core.groups.consumer.heartbeat import heartbeat
from fakebroker.broker.core.groups.consumer.messages import HeartbeatAnswer, HeartbeatRequest
from fakebroker.broker.core.topics import Topic
from tests.support.cluster import make_cluster
from tests.support.group_log import GroupLog
from tests.support.time import TimeDriven

Owned = Mapping[str, Sequence[int]]  # topic name -> partitions
DEFAULTS: dict[str, object] = {
    "offsets.topic.replication.factor": 1,
    "group.initial.rebalance.delay.ms": 0,
    "group.consumer.assignment.interval.ms": 0,
}


class OneConsumerGroup(GroupLog, TimeDriven):
    """A cluster with topics "t" of 4 partitions and "u" of 2, and the consumer group "g". `ms` counts from 0.

    Targets are computed without a pause between them; other settings are Kafka's own defaults.
    """

    def __init__(
        self,
        settings: Mapping[str, object] | None = None,
        nodes: tuple[int, ...] = (1,),
        as_release: str = "4.3",
    ) -> None:
        self.cluster = make_cluster({**DEFAULTS, **(settings or {})}, as_release, node_ids=nodes)
        super().__init__(self.cluster.timers)
        self.topics: dict[str, Topic] = {}
        self.create("t", 4)
        self.create("u", 2)

    # -- what there is -----------------------------------------------------------------------------------------------

    @property
    def shard(self) -> Shard:
        return self.cluster.nodes[self.cluster.group_partition("g").leader].coordinator.shard("g", self.now)

    @property
    def group(self) -> ConsumerGroup:
        group = self.shard.group("g")
        assert isinstance(group, ConsumerGroup)
        return group

    def create(self, name: str, partitions: int) -> None:
        self.topics[name] = self.cluster.topics.create(name, partitions, 1)

    def ids(self, owned: Owned) -> dict[bytes, Sequence[int]]:
        return {self.topics[name].id: partitions for name, partitions in owned.items()}

    def names(self, partitions: Mapping[bytes, Any]) -> dict[str, list[int]]:
        """Partitions by topic name; topics that are gone have the name "?"."""
        names = {topic.id: name for name, topic in self.topics.items()}
        return {names.get(topic_id, "?"): sorted(found) for topic_id, found in partitions.items()}

    # -- requests ----------------------------------------------------------------------------------------------------

    def send(self, member_id: str, epoch: int, owned: Owned | None = None, **fields: Any) -> HeartbeatAnswer:
        """A heartbeat. `topics`, `pattern`, `instance`, `rack`, `assignor` and `rebalance` are its other fields."""
        request = HeartbeatRequest(
            "g",
            member_id,
            epoch,
            fields.pop("instance", None),
            fields.pop("rack", None),
            fields.pop("rebalance", -1),
            fields.pop("topics", None),
            fields.pop("pattern", None),
            fields.pop("assignor", None),
            None if owned is None else self.ids(owned),
            fields.pop("client", f"client-{member_id}"),
            "/127.0.0.1",
        )
        assert not fields
        return heartbeat(self.shard, request, self.now)

    def join(self, member_id: str, topics: Sequence[str] = ("t",), **fields: Any) -> HeartbeatAnswer:
        """A heartbeat that joins, with a rebalance timeout of 5 s unless said otherwise."""
        fields.setdefault("rebalance", 5_000)
        return self.send(member_id, 0, {}, topics=topics, **fields)

    def assigned(self, answer: HeartbeatAnswer) -> dict[str, list[int]] | None:
        """The assignment of an answer, by topic name."""
        return None if answer.assignment is None else self.names(answer.assignment)

    def has(self, member_id: str) -> tuple[int, str, dict[str, list[int]], dict[str, list[int]]]:
        """A member's epoch, the name of its state, what is assigned to it, and what it has to give up."""
        current = self.group.members[member_id].current
        return current.epoch, current.state.name, self.names(current.assigned), self.names(current.pending)

    # -- what was written --------------------------------------------------------------------------------------------

    def reload_shard(self) -> None:
        """Forget all groups and load them from the log."""
        self.cluster.nodes[1].coordinator.unload(self.shard.partition.index, self.now)
        assert self.shard.unavailable_code is None

    def reload(self) -> ConsumerGroup:
        """Load the group from its log, and return it."""
        self.reload_shard()
        return self.group
