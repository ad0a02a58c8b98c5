"""DescribeLogDirs, AlterReplicaLogDirs, ElectLeaders and the reassignments: where partitions are and who leads them."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.core.cluster import Cluster
from fakebroker.core.topics import Partition
from fakebroker.instant import Instant
from fakebroker.records.batch import build_batch
from fakebroker.records.record_codec import Record
from fakebroker.release import release
from fakebroker.settings import Settings
from fakebroker.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from fakebroker.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from fakebroker.wire.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from fakebroker.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from fakebroker.wire.messages.list_partition_reassignments import ListPartitionReassignmentsRequest

Ask = Callable[..., Any]
DIRECTORY = "/tmp/kafka-logs"


@pytest.fixture
def cluster() -> Cluster:
    """Three brokers; topic `t` of two partitions with two replicas each."""
    cluster = Cluster(Settings(profile="test"), release(), node_ids=(1, 2, 3))
    cluster.topics.create("t", 2, 2)
    return cluster


def partition(cluster: Cluster, index: int = 0) -> Partition:
    topic = cluster.topics.get("t")
    assert topic is not None
    return topic.partitions[index]


@pytest.mark.rules("LR-1", "LR-2")
@pytest.mark.parametrize("version", range(6))
def test_log_directories(ask: Ask, cluster: Cluster, version: int) -> None:
    """The size of a partition is that of its batches; unknown partitions and topics without any are left out."""
    batch = build_batch([Record(0, 1, b"k", b"v", ())])
    partition(cluster).log.append(batch, Instant(0, 0))
    asked = [DescribableLogDirTopic(topic="t", partitions=[0, 7]), DescribableLogDirTopic(topic="x", partitions=[0])]
    [directory] = ask(cluster, DescribeLogDirsRequest(topics=asked), version).results
    assert (directory.error_code, directory.log_dir) == (0, DIRECTORY)
    [topic] = directory.topics
    assert [(each.partition_index, each.partition_size, each.offset_lag) for each in topic.partitions] == [
        (0, len(batch), 0)
    ]
    assert not topic.partitions[0].is_future_key
    [everything] = ask(cluster, DescribeLogDirsRequest(topics=None), version).results
    assert [each.partition_index for each in everything.topics[0].partitions] == [0], "partition 1 is on 2 and 3"
    [nothing] = ask(cluster, DescribeLogDirsRequest(topics=[]), version).results
    assert (nothing.log_dir, nothing.topics) == (DIRECTORY, [])


@pytest.mark.rules("LR-3")
@pytest.mark.parametrize(
    ("path", "topic", "code"),
    [
        ("/no/such/dir", "t", 57),
        ("relative", "t", 57),
        ("/no/such/dir", "x", 57),
        (DIRECTORY, "t", 0),
        (DIRECTORY, "x", 3),
    ],
)
def test_moving_between_directories(ask: Ask, cluster: Cluster, path: str, topic: str, code: int) -> None:
    """A path that is no directory of the broker is 57, whatever the partition."""
    topics = [AlterReplicaLogDirTopic(name=topic, partitions=[0])]
    request = AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=path, topics=topics)])
    [result] = ask(cluster, request, 2).results
    assert (result.topic_name, result.partitions[0].partition_index, result.partitions[0].error_code) == (
        topic,
        0,
        code,
    )


def elect(ask: Ask, cluster: Cluster, kind: int, *topics: tuple[str, list[int]], version: int = 2) -> dict[Any, int]:
    asked = [TopicPartitions(topic=name, partitions=indexes) for name, indexes in topics]
    response = ask(cluster, ElectLeadersRequest(election_type=kind, topic_partitions=asked or None), version)
    assert response.error_code == (42 if kind > 1 else 0)
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
    assert elect(ask, cluster, 0, ("t", [0, 1, 7]), ("x", [0])) == {("t", 0): 0, ("t", 1): 84, ("t", 7): 3, ("x", 0): 3}
    assert (partition(cluster).leader, partition(cluster).leader_epoch) == (1, 2)
    partition(cluster).lead(2, Instant(0, 0))
    partition(cluster).isr = [2]
    assert elect(ask, cluster, 0, ("t", [0])) == {("t", 0): 80}
    partition(cluster).isr = [1, 2]
    cluster.stop_node(1, Instant(0, 0))
    assert elect(ask, cluster, 0, ("t", [0])) == {("t", 0): 80}


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
    assert elect(ask, cluster, 1, ("t", [0])) == {("t", 0): 84}
    orphan = partition(cluster)
    orphan.lead(-1, Instant(0, 0))
    orphan.isr = []
    cluster.stop_node(1, Instant(0, 0))
    assert elect(ask, cluster, 1, ("t", [0])) == {("t", 0): 0}
    assert (orphan.leader, orphan.isr, orphan.leader_epoch) == (2, [2], 2)
    orphan.lead(-1, Instant(0, 0))
    cluster.stop_node(2, Instant(0, 0))
    assert elect(ask, cluster, 1, ("t", [0])) == {("t", 0): 83}


@pytest.mark.rules("EL-3")
def test_unknown_election(ask: Ask, cluster: Cluster) -> None:
    """An unknown type is 42 at the top and on every partition."""
    assert elect(ask, cluster, 2, ("t", [0, 1])) == {("t", 0): 42, ("t", 1): 42}


def reassign(ask: Ask, cluster: Cluster, replicas: list[int] | None, *, name: str = "t", **fields: Any) -> int:
    asked = ReassignableTopic(name=name, partitions=[ReassignablePartition(partition_index=0, replicas=replicas)])
    response = ask(cluster, AlterPartitionReassignmentsRequest(topics=[asked], **fields), 1)
    assert (response.error_code, response.error_message) == (0, None)
    [answer] = response.responses[0].partitions
    assert (answer.error_message is None) == (answer.error_code in (0, 85))
    return int(answer.error_code)


@pytest.mark.rules("RA-1", "RA-2")
@pytest.mark.parametrize(
    ("replicas", "code"),
    [(None, 85), ([], 39), ([1, 1], 39), ([9], 39), ([1, 2], 0), ([2, 1], 0), ([3, 1], 0), ([3], 0)],
)
def test_reassignments(ask: Ask, cluster: Cluster, replicas: list[int] | None, code: int) -> None:
    """Nothing to cancel 85, brokers that cannot be 39, else the move is done."""
    assert reassign(ask, cluster, replicas) == code
    assert partition(cluster).replicas == (replicas if code == 0 else [1, 2])


@pytest.mark.rules("RA-1", "RA-2")
def test_refused_reassignments(ask: Ask, cluster: Cluster) -> None:
    """An unknown topic is 3; another length is 38 if the client forbids it."""
    assert reassign(ask, cluster, [1], name="x") == 3
    assert reassign(ask, cluster, [1], allow_replication_factor_change=False) == 38
    assert reassign(ask, cluster, [2, 1], allow_replication_factor_change=False) == 0


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


@pytest.mark.rules("RA-3")
def test_no_reassignment_is_ever_running(ask: Ask, cluster: Cluster) -> None:
    """Moves are done before they are answered, so the list is empty."""
    reassign(ask, cluster, [3, 2])
    response = ask(cluster, ListPartitionReassignmentsRequest(topics=None), 0)
    assert (response.error_code, response.error_message, response.topics) == (0, None, [])
