"""A share group without a network: heartbeats with short names, time that is driven, records as it wrote them."""

from collections.abc import Mapping, Sequence
from typing import Any

from fakebroker.broker.core.coordinator.shard import Shard
from fakebroker.broker.core.events import CoreEvent, GroupEpochBumped, Transition
from fakebroker.broker.core.groups.share.heartbeat import heartbeat
from fakebroker.broker.core.groups.share.messages import HeartbeatAnswer, HeartbeatRequest
from fakebroker.broker.core.groups.share.share_group import ShareGroup
from fakebroker.broker.core.share_state.states import SharePartition, ShareState
from fakebroker.broker.core.topics import Topic
from fakebroker.protocol.records.batch import read_records
from fakebroker.protocol.records.group_records import GroupRecord, read_group_record
from tests.support.cluster import make_cluster
from tests.support.time import TimeDriven

DEFAULTS: dict[str, object] = {
    "offsets.topic.replication.factor": 1,
    "share.coordinator.state.topic.replication.factor": 1,
    "group.share.assignment.interval.ms": 0,
}


class OneShareGroup(TimeDriven):
    """A cluster with topics "t" of 2 partitions and "u" of 1, and the share group "g". `ms` counts from 0.

    Targets are computed without a pause between them; other settings are Kafka's own defaults.
    """

    def __init__(self, settings: Mapping[str, object] | None = None, nodes: tuple[int, ...] = (1,)) -> None:
        self.cluster = make_cluster({**DEFAULTS, **(settings or {})}, node_ids=nodes)
        super().__init__(self.cluster.timers)
        self.topics: dict[str, Topic] = {}
        self.create("t", 2)
        self.create("u", 1)
        self._read = 0

    # -- what there is -----------------------------------------------------------------------------------------------

    @property
    def shard(self) -> Shard:
        return self.cluster.nodes[self.cluster.group_partition("g").leader].coordinator.shard("g", self.now)

    @property
    def group(self) -> ShareGroup:
        group = self.shard.group("g")
        assert isinstance(group, ShareGroup)
        return group

    def create(self, name: str, partitions: int) -> None:
        self.topics[name] = self.cluster.topics.create(name, partitions, 1)

    def names(self, partitions: Mapping[bytes, Any]) -> dict[str, list[int]]:
        """Partitions by topic name; topics that are gone have the name "?"."""
        names = {topic.id: name for name, topic in self.topics.items()}
        return {names.get(topic_id, "?"): sorted(found) for topic_id, found in partitions.items()}

    def state_of(self, topic: str, partition: int) -> ShareState | None:
        """What the share coordinator keeps of a share partition, None: nothing."""
        key = SharePartition("g", self.topics[topic].id, partition)
        stored = self.cluster.nodes[1].share_coordinator.shard(str(key), self.now).states.get(key)
        return None if stored is None else stored.state

    def known(self) -> tuple[dict[str, list[int]], dict[str, list[int]], list[str]]:
        """The partitions of the group that are initializing, those initialized, and the topics being deleted."""
        known = self.group.state_partitions
        initializing = {each.name: list(each.partitions) for each in known.initializing.values()}
        initialized = {each.name: list(each.partitions) for each in known.initialized.values()}
        return initializing, initialized, list(known.deleting.values())

    # -- requests ----------------------------------------------------------------------------------------------------

    def send(
        self, member_id: str, epoch: int, topics: Sequence[str] | None = None, rack: str | None = None
    ) -> HeartbeatAnswer:
        """A heartbeat."""
        request = HeartbeatRequest("g", member_id, epoch, rack, topics, f"client-{member_id}", "/127.0.0.1")
        return heartbeat(self.shard, request, self.now)

    def join(self, member_id: str, topics: Sequence[str] = ("t",)) -> HeartbeatAnswer:
        """A heartbeat that joins, and what it has begun in the background."""
        answer = self.send(member_id, 0, topics)
        self.wait(0)
        return answer

    def assigned(self, answer: HeartbeatAnswer) -> dict[str, list[int]] | None:
        """The assignment of an answer, by topic name."""
        return None if answer.assignment is None else self.names(answer.assignment)

    def has(self, member_id: str) -> tuple[int, dict[str, list[int]]]:
        """A member's epoch, and its partitions."""
        current = self.group.members[member_id].current
        return current.epoch, self.names(current.partitions)

    # -- what was written --------------------------------------------------------------------------------------------

    def written(self) -> list[list[GroupRecord]]:
        """The batches of group records written since the last call."""
        batches, end = [], self._read
        for batch in self.shard.partition.log.batches():
            found = []
            for record in read_records(batch):
                if record.offset >= self._read:
                    end = record.offset + 1
                    assert record.key is not None
                    entry = read_group_record(record.key, record.value)
                    assert entry is not None
                    found.append(entry)
            if found:
                batches.append(found)
        self._read = end
        return batches

    def types(self) -> list[list[str]]:
        """The same, each record as its type and member, a tombstone with a minus: "10 m1", "-14 m1"."""
        return [[_short(record) for record in batch] for batch in self.written()]

    def events(self) -> list[CoreEvent]:
        """What happened since the last call."""
        events, self.cluster.outbox[:] = list(self.cluster.outbox), []
        return events

    def event_rows(self) -> list[tuple[object, ...]]:
        """Of these the changes of the group: its states, or its epoch and why."""
        return [
            (event.before, event.after) if isinstance(event, Transition) else (event.epoch, event.reason)
            for event in self.events()
            if isinstance(event, Transition | GroupEpochBumped)
        ]

    def reload(self) -> ShareGroup:
        """Load the group from its log, and return it."""
        partition = self.cluster.group_partition("g")
        self.cluster.nodes[partition.leader].coordinator.unload(partition.index, self.now)
        return self.group


def _short(record: GroupRecord) -> str:
    sign = "-" if record.value is None else ""
    member_id = getattr(record.key, "member_id", None)
    return f"{sign}{record.type}" + (f" {member_id}" if member_id is not None else "")
