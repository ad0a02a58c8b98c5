"""Very many moves of leaders in one request: a partition moves once, and others are served in between."""

from collections.abc import Sequence
from typing import Any

import pytest

from fakebroker.broker.core.elections import MOVES_PER_STEP
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.alter_partition_reassignments import ReassignablePartition, ReassignableTopic
from fakebroker.protocol.wire.messages.elect_leaders import TopicPartitions
from tests.support.engine import Client, SimEngine
from tests.support.frames import request

OFFSETS = "__consumer_offsets"


@pytest.fixture
def lab() -> SimEngine:
    """Two brokers; the partitions of the offsets have logs, and broker 1 leads them."""
    lab = SimEngine({"offsets.topic.num.partitions": 4, "offsets.topic.replication.factor": 2}, node_ids=(1, 2))
    for partition in lab.cluster.topics.internal(OFFSETS).partitions:
        partition.replicas, partition.isr = [1, 2], [1, 2]
        partition.lead(1, lab.network.now)
        assert partition.log
    lab.cluster.topics.create("t", 4, 1)
    return lab


def begin(lab: SimEngine, name: str, **fields: Any) -> Client:
    """A client whose request has had its first turn."""
    client = lab.client()
    client.socket.connection.receive(request(name, 1, timeout_ms=1000, **fields), lab.network.now)
    return client


def reassign(lab: SimEngine, topic: str, moves: Sequence[tuple[int, list[int] | None]]) -> Client:
    rows = [ReassignablePartition(partition_index=index, replicas=replicas) for index, replicas in moves]
    return begin(lab, "AlterPartitionReassignments", topics=[ReassignableTopic(name=topic, partitions=rows)])


def codes(client: Client) -> list[int]:
    (topic,) = client.answer("AlterPartitionReassignments", 1).responses
    return [each.error_code for each in topic.partitions]


def epochs(lab: SimEngine, topic: str) -> list[int]:
    found = lab.cluster.topics.get(topic)
    assert found is not None
    return [partition.leader_epoch for partition in found.partitions]


@pytest.mark.rules("RA-1", "RA-2")
@pytest.mark.parametrize("topic", [OFFSETS, "t"])
def test_a_partition_that_comes_many_times_moves_once(lab: SimEngine, topic: str) -> None:
    """The last entry that changes anything counts, and each has its answer."""
    before = epochs(lab, topic)
    client = reassign(lab, topic, [(0, [2]), (0, [1])] * 50 + [(0, [2]), (0, [9]), (0, None)])
    lab.network.flush()
    refused = [ErrorCode.INVALID_REPLICA_ASSIGNMENT, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS]
    assert codes(client) == [0] * 101 + refused
    assert epochs(lab, topic) == [before[0] + 1, *before[1:]]
    found = lab.cluster.topics.partition(topic, 0)
    assert found is not None
    assert (found.leader, found.replicas) == (2, [2])


@pytest.mark.rules("RA-1")
@pytest.mark.parametrize(
    ("lists", "found"),
    [
        ([[2], [1, 2]], [2]),
        ([[1, 2], [2]], [2]),
        ([[2], [1], [2]], [2]),
        ([[1, 2], [1]], [1, 2]),
        ([[1, 2], [2, 1]], [2, 1]),
    ],
)
def test_what_several_entries_come_to(lab: SimEngine, lists: list[list[int]], found: list[int]) -> None:
    """Each is compared with the partition as it is, and counts on top of those before (seen on 4.3.1)."""
    partition = lab.cluster.topics.partition("t", 0)
    assert partition is not None
    partition.replicas, partition.isr = [1], [1]
    partition.lead(1, lab.network.now)
    client = reassign(lab, "t", [(0, each) for each in lists])
    lab.network.flush()
    assert codes(client) == [0] * len(lists)
    assert partition.replicas == found


@pytest.mark.rules("RA-2")
def test_others_are_served_between_moves(lab: SimEngine) -> None:
    """A coordinator that moves reads its log: that is a turn for each."""
    before = epochs(lab, OFFSETS)
    client = reassign(lab, OFFSETS, [(index, [2]) for index in range(4)])
    assert sum(epochs(lab, OFFSETS)) == sum(before) + 1
    lab.network.flush()
    assert codes(client) == [0] * 4
    assert epochs(lab, OFFSETS) == [epoch + 1 for epoch in before]


def test_very_many_entries(lab: SimEngine) -> None:
    """Entries that move nothing take turns, too."""
    client = reassign(lab, "t", [(9, [1])] * (MOVES_PER_STEP + 1))
    assert client.socket.connection.is_parked
    lab.network.flush()
    assert codes(client) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * (MOVES_PER_STEP + 1)


def test_a_topic_that_is_deleted_meanwhile(lab: SimEngine) -> None:
    """It is not moved any more."""
    client = reassign(lab, "t", [(9, [1])] * MOVES_PER_STEP + [(0, [2])])
    assert client.socket.connection.is_parked
    lab.cluster.topics.delete("t", lab.network.now)
    lab.network.flush()
    assert codes(client)[-1] in (0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert lab.engine.errors == []


@pytest.mark.rules("EL-1", "EL-2")
@pytest.mark.parametrize("is_named", [True, False])
def test_elections_of_many_partitions(lab: SimEngine, is_named: bool) -> None:
    """The same of ElectLeaders."""
    offsets = lab.cluster.topics.internal(OFFSETS)
    for partition in offsets.partitions:
        partition.replicas = [2, 1]
    named = [TopicPartitions(topic=OFFSETS, partitions=[0, 1, 2, 3])] if is_named else None
    client = begin(lab, "ElectLeaders", election_type=0, topic_partitions=named)
    assert sorted(partition.leader for partition in offsets.partitions) == [1, 1, 1, 2]
    lab.network.flush()
    results = client.answer("ElectLeaders", 1).replica_election_results
    assert {each.error_code for result in results for each in result.partition_result} == {0}
    assert {partition.leader for partition in offsets.partitions} == {2}
