"""A coordinator without a network: groups in any state, requests by field names, time that is driven, logs reread."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.apis.handlers import handler
from fakebroker.broker.core.coordinator.coordinator import GroupCoordinator
from fakebroker.broker.core.coordinator.loading import load_groups
from fakebroker.broker.core.coordinator.shard import Shard
from fakebroker.broker.core.explain.offsets import GroupExplanation, explain
from fakebroker.broker.core.groups.classic.classic_group import ClassicGroup
from fakebroker.broker.core.groups.classic.messages import JoinRequest, Leaver, SyncRequest
from fakebroker.broker.core.groups.classic.states import State
from fakebroker.broker.core.offsets.expirations import OffsetExpired, OffsetsExpired
from fakebroker.broker.core.topics import Partition, Topic
from fakebroker.protocol.listeners import Listener
from fakebroker.protocol.pace import finished
from fakebroker.protocol.records.batch import read_records
from fakebroker.protocol.records.consumer_protocol import ConsumerProtocolSubscription, encode_subscription
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequestTopic
from fakebroker.protocol.wire.registry import api
from tests.support.cluster import make_cluster
from tests.support.parked import Parked
from tests.support.time import DAY, MINUTE, TimeDriven

NO_ID = bytes(16)
PASS = 10 * MINUTE  # offsets.retention.check.interval.ms
WEEK = 7 * DAY  # offsets.retention.minutes

PartitionKey = tuple[str, int]  # topic and index
Pair = tuple[bytes | None, bytes | None]


class _Client:
    """A client that keeps the one answer it got by `Call.reply`."""

    reply: Any = None

    def answer(self, _call: Call, response: Any) -> None:
        self.reply = response

    def work(self, _call: Call, steps: Steps[Any], _must_finish: bool) -> None:
        self.reply = finished(steps) or self.reply


class OffsetsCluster(TimeDriven):
    """A cluster with topics "t" and "u" of 4 partitions. `ms` counts from 0; the defaults are Kafka's."""

    def __init__(
        self, as_release: str = "4.3", nodes: tuple[int, ...] = (1,), settings: Mapping[str, object] | None = None
    ) -> None:
        values = {"group.initial.rebalance.delay.ms": 0, "offsets.topic.replication.factor": 1, **(settings or {})}
        self.cluster = make_cluster(values, as_release, node_ids=nodes)
        super().__init__(self.cluster.timers)
        self.topics = {name: self.cluster.topics.create(name, 4, 1) for name in ("t", "u")}
        self._members: dict[str, list[str]] = {}

    # -- what there is -----------------------------------------------------------------------------------------------

    @property
    def coordinator(self) -> GroupCoordinator:
        return self.cluster.nodes[1].coordinator

    def shard(self, group_id: str = "g") -> Shard:
        return self.coordinator.shard(group_id, self.now)

    def partition(self, group_id: str = "g") -> Partition:
        """The partition of `__consumer_offsets` that holds the group."""
        return self.cluster.group_partition(group_id)

    def load_slowly(self, group_id: str = "g") -> None:
        """The group's partition is being read for a minute from now on."""
        self.coordinator.load(self.partition(group_id).index, self.now, for_ms=MINUTE)

    def group(self, group_id: str = "g") -> ClassicGroup:
        group = self.found(group_id)
        assert group is not None, f"there is no group {group_id}"
        return group

    def found(self, group_id: str = "g") -> ClassicGroup | None:
        """The group, None if there is none."""
        group = self.shard(group_id).group(group_id)
        assert group is None or isinstance(group, ClassicGroup)
        return group

    def exists(self, group_id: str = "g") -> bool:
        return self.shard(group_id).group(group_id) is not None

    def offsets(self, group_id: str = "g") -> dict[PartitionKey, int]:
        """What is committed, {} if the group is not there."""
        group = self.shard(group_id).group(group_id)
        return {} if group is None else {stored[:2]: stored[2] for stored in group.offsets}

    def records(self, group_id: str = "g") -> list[Record]:
        """The records of the group's partition of `__consumer_offsets`."""
        return [record for batch in self.batches(group_id) for record in read_records(batch)]

    def batches(self, group_id: str = "g") -> list[bytes]:
        return list(self.shard(group_id).partition.log.batches())

    # -- time --------------------------------------------------------------------------------------------------------

    def expired(self) -> list[OffsetExpired]:
        """What expired since the last call."""
        expirations = [event for event in self.cluster.outbox if isinstance(event, OffsetsExpired)]
        self.cluster.outbox.clear()
        return [each for expiration in expirations for each in expiration.each()]

    # -- members -----------------------------------------------------------------------------------------------------

    def join(
        self,
        group_id: str = "g",
        topics: Iterable[str] = ("t",),
        *,
        member_id: str = "",
        instance: str | None = None,
        protocol_type: str = "consumer",
        metadata: bytes | None = None,
        session_ms: int = 20 * DAY,
        rebalance_ms: int = MINUTE,
    ) -> Parked[Any]:
        """A JoinGroup; members of the lab are patient, so that a test can let days pass."""
        shard = self.shard(group_id)
        group = shard.group(group_id) or shard.create_group(group_id, self.now)
        subscription = (
            encode_subscription(ConsumerProtocolSubscription(topics=list(topics))) if metadata is None else metadata
        )
        request = JoinRequest(
            member_id,
            instance,
            "c",
            "/127.0.0.1",
            session_ms,
            rebalance_ms,
            protocol_type,
            (("range", subscription),),
            needs_member_id=False,
        )
        parked: Parked[Any] = Parked(lambda: self.ms)
        group.join(request, parked, self.now)
        return parked

    def sync(self, member_id: str, group_id: str = "g", assignment: bytes = b"all") -> Parked[Any]:
        parked: Parked[Any] = Parked(lambda: self.ms)
        group = self.group(group_id)
        group.sync(
            SyncRequest(member_id, None, group.generation, None, None, [(member_id, assignment)]), parked, self.now
        )
        return parked

    def stable(self, group_id: str = "g", topics: Iterable[str] = ("t",), **join: Any) -> str:
        """A group of one member in Stable; its member id."""
        member_id: str = self.join(group_id, topics, **join).member_id
        self.sync(member_id, group_id)
        assert self.group(group_id).state is State.STABLE
        return member_id

    def leave(self, member_id: str, group_id: str = "g") -> None:
        self.group(group_id).leave([Leaver(member_id)], self.now)

    def emptied(self, group_id: str = "g", topics: Iterable[str] = ("t",), **join: Any) -> None:
        """A group that had a member and is Empty since now."""
        self.leave(self.stable(group_id, topics, **join), group_id)
        assert self.group(group_id).state is State.EMPTY

    # -- requests ----------------------------------------------------------------------------------------------------

    def call(self, version: int, node: int = 1) -> Call:
        listener, client = Listener(node, "127.0.0.1", 9092), cast(Any, _Client())
        call = Call(self.cluster, self.cluster.nodes[node], listener, client, "/127.0.0.1")
        call.version, call.client_id, call.now = version, "c", self.now
        return call

    def ask(self, name: str, version: int, node: int = 1, **request: Any) -> Any:
        """Have the handler of an API answer; the request and the answer go through bytes of that version."""
        wire = api(name)
        decoded, _ = wire.request.decode(wire.request(**request).encode(version), version)
        call = self.call(version, node)
        answer = handler(wire.key).handle(call, decoded) or cast(Any, call.connection).reply
        return wire.response.decode(answer.encode(version), version)[0]

    def commit(
        self,
        offsets: Mapping[PartitionKey, int] | Sequence[tuple[str, int, int]] = {("t", 0): 5},
        *,
        group_id: str = "g",
        version: int = 9,
        metadata: str | None = "",
        own_ms: int = -1,
        **request: Any,
    ) -> list[tuple[str | bytes, int, int]]:
        """OffsetCommit; (topic, partition, code) as answered. From v10 on topics go by id."""
        rows = [(*place, offset) for place, offset in offsets.items()] if isinstance(offsets, Mapping) else offsets
        topics = [
            OffsetCommitRequestTopic(**self.named(name, version), partitions=[(index, offset, -1, own_ms, metadata)])
            for name, index, offset in rows
        ]
        answer = self.ask("OffsetCommit", version, group_id=group_id, topics=topics, **request)
        return [
            (topic.topic_id if version >= 10 else topic.name, index, code)
            for topic in answer.topics
            for index, code in topic.partitions
        ]

    def commit_codes(self, offsets: Mapping[PartitionKey, int] = {("t", 0): 5}, **request: Any) -> list[int]:
        """The same, the codes only."""
        return [code for _, _, code in self.commit(offsets, **request)]

    def pend(self, offsets: Mapping[PartitionKey, int], group_id: str = "g", producer_id: int = 7) -> None:
        """Offsets of a transaction that is open."""
        shard = self.shard(group_id)
        group = shard.group(group_id) or shard.create_group(group_id, self.now)
        rows = [(*place, offset, -1, "p", self.now.wall_ms, -1, NO_ID) for place, offset in offsets.items()]
        shard.commit_pending(group, (producer_id, 0), rows, self.now)

    def named(self, topic: str, version: int) -> dict[str, Any]:
        """A topic as a version names it; one that does not exist has an id nobody has."""
        known: Topic | None = self.cluster.topics.get(topic)
        return {"name": topic} if version < 10 else {"topic_id": known.id if known else topic.encode().ljust(16, b"?")}

    def explain(self, group_id: str = "g", policy: str | None = None) -> GroupExplanation:
        return explain(self.cluster.nodes[1], group_id, self.now, policy)

    # -- the log is the truth ----------------------------------------------------------------------------------------

    def reread(self, group_id: str = "g") -> Shard:
        """A shard in another cluster, filled from the same log."""
        original = self.shard(group_id)
        other = make_cluster(as_release=self.cluster.release.name)
        shard = Shard(other.nodes[1], original.partition, self.now)
        shard.timers.passes.finish(load_groups(shard), self.now)
        return shard


def state_of(shard: Shard) -> dict[str, Any]:
    """What a load must bring back: groups that are in the log, with their offsets.

    A simple group without offsets has left no record; when a Stable group became so is not stored (CR-15), and before
    2.1 no such time is (CR-8).
    """
    stores_time = shard.behaviours.group_value_version >= 2
    return {
        group.group_id: (
            group.to_value()
            if group.state is State.EMPTY and group.protocol_type and stores_time
            else group.to_value()._replace(state_ms=0),
            str(group.state),
            {stored[:2]: stored for stored in group.offsets},
        )
        for group in shard
        if isinstance(group, ClassicGroup)
        if group.protocol_type or not group.offsets.is_empty()
    }
