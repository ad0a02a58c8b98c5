"""AlterPartitionReassignments: replicas move at once, and their leader with them."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.core.cluster import Cluster
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from tests.support.cluster import partition

Ask = Callable[..., Any]


def reassign(ask: Ask, cluster: Cluster, replicas: list[int] | None, *, name: str = "t", **fields: Any) -> int:
    asked = ReassignableTopic(name=name, partitions=[ReassignablePartition(partition_index=0, replicas=replicas)])
    response = ask(cluster, AlterPartitionReassignmentsRequest(topics=[asked], **fields), 1)
    assert (response.error_code, response.error_message) == (0, None)
    [answer] = response.responses[0].partitions
    assert (answer.error_message is None) == (answer.error_code in (0, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS))
    return int(answer.error_code)


@pytest.mark.rules("RA-1", "RA-2")
@pytest.mark.parametrize(
    ("replicas", "code"),
    [
        (None, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS),
        ([], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([1, 1], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([9], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([1, 2], 0),
        ([2, 1], 0),
        ([3, 1], 0),
        ([3], 0),
    ],
)
def test_reassignments(ask: Ask, cluster: Cluster, replicas: list[int] | None, code: int) -> None:
    """Nothing to cancel 85, brokers that cannot be 39, else the move is done."""
    assert reassign(ask, cluster, replicas) == code
    assert partition(cluster).replicas == (replicas if code == 0 else [1, 2])


@pytest.mark.rules("RA-1", "RA-2")
def test_refused_reassignments(ask: Ask, cluster: Cluster) -> None:
    """An unknown topic is 3; another length is 38 if the client forbids it."""
    assert reassign(ask, cluster, [1], name="x") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert reassign(ask, cluster, [1], allow_replication_factor_change=False) == ErrorCode.INVALID_REPLICATION_FACTOR
    assert reassign(ask, cluster, [2, 1], allow_replication_factor_change=False) == 0


MANUAL = "The manual partition assignment includes"


@pytest.mark.rules("RA-1", "NT-7")
@pytest.mark.parametrize(
    ("name", "index", "replicas", "text"),
    [
        ("x", 0, [1], "Unable to find a topic named x."),
        ("t", 99, [1], "Unable to find partition t:99."),
        ("t", 0, [], f"{MANUAL} an empty replica list."),
        ("t", 0, [2, 1, 2], f"{MANUAL} the broker 2 more than once."),
        ("t", 0, [1, *range(50, 20_000)], f"{MANUAL} broker 50, but no such broker is registered."),
        ("t", 0, [1] * 20_000, f"{MANUAL} the broker 1 more than once."),
    ],
)
def test_the_texts_of_refusals(
    ask: Ask, cluster: Cluster, name: str, index: int, replicas: list[int], text: str
) -> None:
    """Those of Kafka 4.3.1, which name one broker of however many."""
    asked = ReassignableTopic(name=name, partitions=[ReassignablePartition(partition_index=index, replicas=replicas)])
    response = ask(cluster, AlterPartitionReassignmentsRequest(topics=[asked]), 1)
    assert response.responses[0].partitions[0].error_message == text


@pytest.mark.rules("RA-2", "CLU-24", "CLU-30", "CLU-71")
def test_what_a_move_does_to_the_leader(ask: Ask, cluster: Cluster) -> None:
    """A new order leaves the leader; leaving its broker moves the leadership; lost replicas are a new epoch."""
    moved = partition(cluster)
    heard: list[int] = []
    cluster.topics.on_leader_changed.append(lambda partition, _now: heard.append(partition.leader))
    reassign(ask, cluster, [2, 1])
    assert (moved.leader, moved.leader_epoch, heard) == (1, 0, [])
    reassign(ask, cluster, [1, 3])
    assert (moved.leader, moved.leader_epoch, heard) == (1, 1, [])
    reassign(ask, cluster, [3, 2])
    assert (moved.leader, moved.leader_epoch, moved.isr, heard) == (3, 2, [3, 2], [3])
