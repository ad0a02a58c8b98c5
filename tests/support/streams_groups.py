"""A streams group without a network: heartbeats with short names, time that is driven, records as it wrote them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fakebroker.broker.core.coordinator.shard import Shard
from fakebroker.broker.core.groups.streams.heartbeat import heartbeat
from fakebroker.broker.core.groups.streams.messages import HeartbeatAnswer, HeartbeatRequest
from fakebroker.broker.core.groups.streams.streams_group import StreamsGroup
from fakebroker.broker.core.groups.streams.tasks import Task, Tasks, each_task, tasks_of
from fakebroker.broker.core.groups.streams.topology import Topology
from fakebroker.protocol.records.streams_group_schema import (
    CopartitionGroup,
    InternalTopic,
    StreamsGroupTopologyValue,
    Subtopology,
)
from tests.support.cluster import make_cluster
from tests.support.group_log import GroupLog
from tests.support.time import TimeDriven

DEFAULTS: dict[str, object] = {
    "offsets.topic.replication.factor": 1,
    "group.streams.assignment.interval.ms": 0,
    "group.streams.initial.rebalance.delay.ms": 0,
}


def subtopology(
    name: str = "0",
    sources: Sequence[str] = (),
    *,
    changelogs: Iterable[str] = (),
    sinks: Sequence[str] = (),
    repartition: Mapping[str, int] | None = None,
    copartition: Sequence[tuple[list[int], list[int]]] = (),
) -> Subtopology:
    """A part of a topology; `repartition` are topics it reads with their given partition counts, 0: none is given."""
    return Subtopology(
        subtopology_id=name,
        source_topics=list(sources),
        state_changelog_topics=[InternalTopic(name=topic) for topic in changelogs],
        repartition_sink_topics=list(sinks),
        repartition_source_topics=[
            InternalTopic(name=topic, partitions=count) for topic, count in (repartition or {}).items()
        ],
        copartition_groups=[
            CopartitionGroup(source_topics=sources, repartition_source_topics=topics) for sources, topics in copartition
        ],
    )


def topology(*subtopologies: Subtopology, epoch: int = 1) -> Topology:
    """A topology of these parts."""
    return Topology(StreamsGroupTopologyValue(epoch=epoch, subtopologies=list(subtopologies)))


READS_T = topology(subtopology("0", ["t"]))
STATEFUL = topology(subtopology("0", ["t"], changelogs=["c"]))


def tasks(*active: int, standby: Iterable[int] = (), of: str = "0") -> Tasks:
    """Tasks of one subtopology, by their partitions."""
    return tasks_of(each_task(of, active), each_task(of, standby))


def partitions(found: Iterable[Task]) -> list[int]:
    """The partitions of tasks of one subtopology."""
    return [task.partition for task in found]


class OneStreamsGroup(GroupLog, TimeDriven):
    """A cluster with a topic "t" of 4 partitions, and the streams group "g". `ms` counts from 0.

    Targets are computed without a pause between them and without a delay at the start; other settings are Kafka's own.
    """

    def __init__(self, settings: Mapping[str, object] | None = None) -> None:
        self.cluster = make_cluster({**DEFAULTS, **(settings or {})})
        super().__init__(self.cluster.timers)
        self.create("t", 4)

    # -- what there is -----------------------------------------------------------------------------------------------

    @property
    def shard(self) -> Shard:
        return self.cluster.nodes[1].coordinator.shard("g", self.now)

    @property
    def group(self) -> StreamsGroup:
        group = self.shard.group("g")
        assert isinstance(group, StreamsGroup)
        return group

    def create(self, name: str, partitions: int) -> None:
        self.cluster.topics.create(name, partitions, 1)

    def configure(self, **configs: object) -> None:
        """Give the group configs of its own: `num_standby_replicas` is "streams.num.standby.replicas"."""
        named = {"streams." + name.replace("_", "."): str(value) for name, value in configs.items()}
        self.cluster.group_configs.setdefault("g", {}).update(named)

    # -- requests ----------------------------------------------------------------------------------------------------

    def send(self, member_id: str, epoch: int, owned: Tasks | None = None, **fields: Any) -> HeartbeatAnswer:
        """A heartbeat, with further fields of HeartbeatRequest."""
        request = HeartbeatRequest("g", member_id, epoch, owned=owned, client_id=f"client-{member_id}", **fields)
        return heartbeat(self.shard, request, self.now)

    def join(self, member_id: str, topology: Topology = READS_T, **fields: Any) -> HeartbeatAnswer:
        """A heartbeat that joins: a process of its own and a rebalance timeout of 5 s, unless said otherwise."""
        fields = {"process_id": f"process-{member_id}", "rebalance_timeout_ms": 5_000, **fields}
        return self.send(member_id, 0, Tasks(), topology=topology, **fields)

    def leave(self, member_id: str, **fields: Any) -> HeartbeatAnswer:
        return self.send(member_id, -1, **fields)

    def settle(self, *member_ids: str, rounds: int = 10) -> None:
        """Members report what they were told to own, until nothing moves any more."""
        for _ in range(rounds):
            for member_id in member_ids or tuple(self.group.members):
                current = self.group.members[member_id].current
                self.send(member_id, current.epoch, current.assigned)

    def has(self, member_id: str) -> tuple[int, str, list[int], list[int]]:
        """A member's epoch, the name of its state, and the partitions of its active tasks: to own, and to give up."""
        current = self.group.members[member_id].current
        return (
            current.epoch,
            current.state.name,
            partitions(current.assigned.active),
            partitions(current.pending.active),
        )

    def target(self) -> dict[str, list[int]]:
        """The partitions of the active tasks that each member shall have."""
        return {member_id: partitions(self.group.target_of(member_id).active) for member_id in self.group.members}

    # -- what was written --------------------------------------------------------------------------------------------

    def reload(self) -> StreamsGroup:
        """Load the group from its log, and return it."""
        self.cluster.nodes[1].coordinator.unload(self.shard.partition.index, self.now)
        return self.group
