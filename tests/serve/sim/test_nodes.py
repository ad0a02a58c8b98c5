"""Stopping one broker of a cluster, as its clients see it: after recordings of three brokers of Kafka 4.3.1."""

from typing import Any

import pytest

from fakebroker.broker.core.events import CoordinatorMoved
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.describe_topic_partitions import TopicRequest
from fakebroker.protocol.wire.messages.elect_leaders import TopicPartitions
from fakebroker.protocol.wire.messages.metadata import MetadataRequestTopic
from fakebroker.protocol.wire.messages.sync_group import SyncGroupRequestAssignment
from tests.support.cluster import by_kafka_name
from tests.support.engine import Client, SimEngine
from tests.support.frames import long_poll


class ClusterLab(SimEngine):
    """Three brokers. `a` coordinates group "g", `b` is to take over."""

    def __init__(self, as_release: str = "4.3", **settings: object) -> None:
        values = {"group.initial.rebalance.delay.ms": 0, **by_kafka_name(settings)}
        super().__init__(values, as_release=as_release, node_ids=(1, 2, 3))
        first = self.cluster.group_partition("g").leader
        self.a, self.b, self.c = first, first % 3 + 1, (first + 1) % 3 + 1

    def at(self, node_id: int) -> Client:
        """A client of that broker."""
        [listener] = [each for each in self.engine.listeners if each.node_id == node_id]
        return self.client(listener)


@pytest.fixture
def lab() -> ClusterLab:
    return ClusterLab()


def stable(client: Client) -> str:
    """Make the group Stable with one member; its id."""
    member_id = str(client.join().member_id)
    mine = SyncGroupRequestAssignment(member_id=member_id, assignment=b"1")
    answer = client.ask("SyncGroup", 3, group_id="g", generation_id=1, member_id=member_id, assignments=[mine])
    assert answer.error_code == 0
    return member_id


def heartbeat(client: Client, member_id: str, generation: int = 1) -> int:
    asked = {"group_id": "g", "generation_id": generation, "member_id": member_id}
    return int(client.ask("Heartbeat", 4, **asked).error_code)


@pytest.mark.rules("CLU-30", "CLU-31", "CLU-32", "CLU-34")
def test_a_coordinator_stops(lab: ClusterLab) -> None:
    """Parked requests get 16, then the connections close; the next replica goes on from the log, also afterwards."""
    member = lab.at(lab.a)
    member_id = stable(member)
    other = lab.at(lab.a)
    assert other.join() is None
    lab.network.stop_node(lab.a)

    parked = other.answer("JoinGroup", 3)
    assert (parked.error_code, parked.generation_id) == (ErrorCode.NOT_COORDINATOR, -1)
    assert other.close_reason == member.close_reason == f"node {lab.a} was stopped"
    at_b = lab.at(lab.b)
    assert [heartbeat(at_b, member_id), heartbeat(at_b, member_id, 2)] == [0, ErrorCode.ILLEGAL_GENERATION]
    found = lab.at(lab.c).ask("FindCoordinator", 4, coordinator_keys=["g"]).coordinators
    assert [(each.node_id, each.error_code) for each in found] == [(lab.b, 0)]

    lab.network.start_node(lab.a)
    assert heartbeat(lab.at(lab.a), member_id) == ErrorCode.NOT_COORDINATOR
    assert heartbeat(at_b, member_id) == 0
    moves = [recorded.event for recorded in lab.journal.events(CoordinatorMoved)]
    assert [(move.node_id, move.what) for move in moves] == [
        (lab.a, "unloaded"),
        (lab.b, "loading"),
        (lab.b, "loaded"),
    ]


@pytest.mark.rules("CLU-5", "CLU-26")
def test_the_only_replica_of_a_coordinator_stops() -> None:
    """Its groups are 15 and 16 everywhere until it is back; then it has read its log."""
    lab = ClusterLab(offsets_topic_replication_factor=1)
    member_id = stable(lab.at(lab.a))
    lab.network.stop_node(lab.a)
    at_c = lab.at(lab.c)
    [found] = at_c.ask("FindCoordinator", 4, coordinator_keys=["g"]).coordinators
    assert (found.error_code, found.node_id, found.port) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1, -1)
    assert heartbeat(at_c, member_id) == ErrorCode.NOT_COORDINATOR
    lab.network.start_node(lab.a)
    assert heartbeat(lab.at(lab.a), member_id) == 0


def row(lab: ClusterLab, version: int) -> list[Any]:
    """What Metadata says of the partitions of t, u and w: code, leader, replicas, in sync, offline."""
    names = [MetadataRequestTopic(name=name) for name in "tuw"]
    answer = lab.at(lab.c).ask("Metadata", version, topics=names)
    assert [broker.node_id for broker in answer.brokers] == sorted([lab.b, lab.c])
    return [
        (p.error_code, p.leader_id, p.replica_nodes, p.isr_nodes, p.offline_replicas)
        for topic in answer.topics
        for p in topic.partitions
    ]


@pytest.mark.rules("CLU-21", "CLU-22", "CLU-23", "CLU-24", "CLU-30", "CLU-70")
def test_a_broker_is_down(lab: ClusterLab) -> None:
    """Metadata of every age, DescribeTopicPartitions, DescribeCluster and ElectLeaders, as recorded in broker_down."""
    a, b, c = lab.a, lab.b, lab.c
    for name, replicas in (("t", [a, b, c]), ("u", [a]), ("w", [b, a])):
        lab.cluster.topics.create(name, assignments=[replicas])
    lab.network.stop_node(a)

    assert row(lab, 0) == [
        (ErrorCode.REPLICA_NOT_AVAILABLE, b, [b, c], [b, c], []),
        (ErrorCode.LEADER_NOT_AVAILABLE, -1, [], [], []),
        (ErrorCode.REPLICA_NOT_AVAILABLE, b, [b], [b], []),
    ]
    assert row(lab, 4) == [
        (0, b, [a, b, c], [b, c], []),
        (ErrorCode.LEADER_NOT_AVAILABLE, -1, [a], [], []),
        (0, b, [b, a], [b], []),
    ]
    assert row(lab, 7) == [
        (0, b, [a, b, c], [b, c], [a]),
        (ErrorCode.LEADER_NOT_AVAILABLE, -1, [a], [], [a]),
        (0, b, [b, a], [b], [a]),
    ]
    at_c = lab.at(c)
    described = at_c.ask("DescribeTopicPartitions", 0, topics=[TopicRequest(name=name) for name in "tuw"])
    partitions = [partition for topic in described.topics for partition in topic.partitions]
    assert [p.leader_epoch for p in partitions] == [1, 1, 0]
    assert [(p.eligible_leader_replicas, p.last_known_elr) for p in partitions] == [([], []), ([a], [a]), ([], [])]
    fenced = at_c.ask("DescribeCluster", 2, include_fenced_brokers=True).brokers
    assert [(broker.broker_id, broker.port, broker.is_fenced) for broker in fenced] == [
        (node_id, 9091 + node_id, node_id == a) for node_id in (1, 2, 3)
    ]
    assert (elect(at_c, "tuw", 0), elect(at_c, "tuw", 1)) == (
        [
            ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
            ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
            ErrorCode.ELECTION_NOT_NEEDED,
        ],
        [ErrorCode.ELECTION_NOT_NEEDED, ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, ErrorCode.ELECTION_NOT_NEEDED],
    )

    lab.network.start_node(a)
    leaders = {topic.name: topic.partitions[0] for topic in lab.cluster.topics}
    assert [(leaders[name].leader, leaders[name].leader_epoch) for name in "tuw"] == [(b, 1), (a, 2), (b, 0)]
    assert [sorted(leaders[name].isr) for name in "tuw"] == [[1, 2, 3], [a], sorted([a, b])]


def elect(client: Client, names: str, kind: int) -> list[int]:
    """The codes of ElectLeaders for partition 0 of each topic."""
    asked = [TopicPartitions(topic=name, partitions=[0]) for name in names]
    answer = client.ask("ElectLeaders", 2, election_type=kind, topic_partitions=asked)
    return [result.partition_result[0].error_code for result in answer.replica_election_results]


@pytest.mark.rules("CLU-32", "CLU-55")
def test_connections_end(lab: ClusterLab) -> None:
    """No client of the broker stays, whatever it waits for, and none gets in; clients of others stay.

    A long poll of an old version hears of the new leader before.
    """
    lab.cluster.topics.create("t", assignments=[[lab.a, lab.b]])
    reader, idle, elsewhere = lab.at(lab.a), lab.at(lab.a), lab.at(lab.b)
    reader.socket.send(long_poll(60_000))
    lab.network.stop_node(lab.a)
    assert [client.socket.is_closed for client in (reader, idle, elsewhere)] == [True, True, False]
    [[partition]] = [topic.partitions for topic in reader.answer("Fetch", 4).responses]
    assert partition.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    with pytest.raises(ConnectionRefusedError, match=f"node {lab.a} is stopped"):
        lab.at(lab.a)
    assert lab.engine.errors == []
