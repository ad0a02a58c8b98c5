"""ElectLeaders: preferred and unclean elections."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.core.cluster import Cluster
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from tests.support.cluster import partition

Ask = Callable[..., Any]


def elect(ask: Ask, cluster: Cluster, kind: int, *topics: tuple[str, list[int]], version: int = 2) -> dict[Any, int]:
    asked = [TopicPartitions(topic=name, partitions=indexes) for name, indexes in topics]
    response = ask(cluster, ElectLeadersRequest(election_type=kind, topic_partitions=asked or None), version)
    assert response.error_code == (ErrorCode.INVALID_REQUEST if kind > 1 else 0)
    results = [each for result in response.replica_election_results for each in result.partition_result]
    assert all((each.error_message is None) == (each.error_code == 0) for each in results)
    return {
        (result.topic, each.partition_id): each.error_code
        for result in response.replica_election_results
        for each in result.partition_result
    }


@pytest.mark.rules("EL-1", "EL-3", "CLU-24", "CLU-70")
def test_preferred_election(ask: Ask, cluster: Cluster) -> None:
    """The first replica leads again, at a new epoch; 84 where it does already, 80 where it cannot, 3 for unknown."""
    partition(cluster).lead(2, Instant(0, 0))
    assert elect(ask, cluster, 0, ("t", [0, 1, 7]), ("x", [0])) == {
        ("t", 0): 0,
        ("t", 1): ErrorCode.ELECTION_NOT_NEEDED,
        ("t", 7): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("x", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert (partition(cluster).leader, partition(cluster).leader_epoch) == (1, 2)
    partition(cluster).lead(2, Instant(0, 0))
    partition(cluster).isr = [2]
    assert elect(ask, cluster, 0, ("t", [0])) == {("t", 0): ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE}
    partition(cluster).isr = [1, 2]
    cluster.stop_node(1, Instant(0, 0))
    assert elect(ask, cluster, 0, ("t", [0])) == {("t", 0): ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE}


@pytest.mark.rules("EL-1")
def test_v0_means_preferred(ask: Ask, cluster: Cluster) -> None:
    """v0 has no election type."""
    partition(cluster).lead(2, Instant(0, 0))
    asked = [TopicPartitions(topic="t", partitions=[0])]
    ask(cluster, ElectLeadersRequest(topic_partitions=asked), 0)
    assert partition(cluster).leader == 1


@pytest.mark.rules("EL-2")
def test_election_everywhere(ask: Ask, cluster: Cluster) -> None:
    """Partitions that need none are left out, their topics stay."""
    partition(cluster).lead(2, Instant(0, 0))
    cluster.topics.create("u", 1)
    response = ask(cluster, ElectLeadersRequest(election_type=0, topic_partitions=None), 2)
    assert [
        (result.topic, [each.partition_id for each in result.partition_result])
        for result in response.replica_election_results
    ] == [("t", [0]), ("u", [])]


@pytest.mark.rules("EL-1", "EL-3", "CLU-70")
def test_unclean_election(ask: Ask, cluster: Cluster) -> None:
    """Where nobody leads any living replica may; 84 where somebody does, 83 where none is alive."""
    assert elect(ask, cluster, 1, ("t", [0])) == {("t", 0): ErrorCode.ELECTION_NOT_NEEDED}
    orphan = partition(cluster)
    orphan.lead(-1, Instant(0, 0))
    orphan.isr = []
    cluster.stop_node(1, Instant(0, 0))
    assert elect(ask, cluster, 1, ("t", [0])) == {("t", 0): 0}
    assert (orphan.leader, orphan.isr, orphan.leader_epoch) == (2, [2], 2)
    orphan.lead(-1, Instant(0, 0))
    cluster.stop_node(2, Instant(0, 0))
    assert elect(ask, cluster, 1, ("t", [0])) == {("t", 0): ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE}


@pytest.mark.rules("EL-3")
def test_unknown_election(ask: Ask, cluster: Cluster) -> None:
    """An unknown type is 42 at the top and on every partition."""
    assert elect(ask, cluster, 2, ("t", [0, 1])) == {
        ("t", 0): ErrorCode.INVALID_REQUEST,
        ("t", 1): ErrorCode.INVALID_REQUEST,
    }
