"""CreatePartitions: only upwards."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.release import release
from fakebroker.broker.settings import Settings
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)

Ask = Callable[..., Any]


@pytest.fixture
def cluster() -> Cluster:
    """Two brokers; topic `t` of two partitions with two replicas each."""
    cluster = Cluster(Settings(profile="test"), release(), node_ids=(1, 2))
    cluster.topics.create("t", 2, 2)
    return cluster


def grow(
    ask: Ask, cluster: Cluster, *topics: tuple[str, int, list[list[int]] | None], version: int = 3, **fields: Any
) -> dict[str, int]:
    asked = [
        CreatePartitionsTopic(
            name=name,
            count=count,
            assignments=None if brokers is None else [CreatePartitionsAssignment(broker_ids=ids) for ids in brokers],
        )
        for name, count, brokers in topics
    ]
    answers = ask(cluster, CreatePartitionsRequest(timeout_ms=1000, topics=asked, **fields), version).results
    return {answer.name: answer.error_code for answer in answers}


def size(cluster: Cluster) -> int:
    topic = cluster.topics.get("t")
    assert topic is not None
    return len(topic.partitions)


@pytest.mark.parametrize(("length", "code"), [(248, 0), (249, ErrorCode.INVALID_PARTITIONS)])
def test_each_partition_can_have_a_folder(cluster: Cluster, ask: Ask, length: int, code: int) -> None:
    """MOCK: a file's name has at most 255 characters; one record for such a partition would fail a whole disk."""
    name = "n" * length
    topic = cluster.topics.create(name, 1, 1)
    topic.partitions *= 99_999
    assert grow(ask, cluster, (name, 100_001, None)) == {name: code}


@pytest.mark.rules("NP-1")
@pytest.mark.parametrize(
    ("count", "code"),
    [
        (2, ErrorCode.INVALID_PARTITIONS),
        (1, ErrorCode.INVALID_PARTITIONS),
        (0, ErrorCode.INVALID_PARTITIONS),
        (-1, ErrorCode.INVALID_PARTITIONS),
        (3, 0),
    ],
)
def test_only_upwards(ask: Ask, cluster: Cluster, count: int, code: int) -> None:
    """A count that is not more than there are is 37."""
    assert grow(ask, cluster, ("t", count, None)) == {"t": code}
    assert size(cluster) == (count if code == 0 else 2)


@pytest.mark.rules("NP-1", "AD-2")
def test_unknown_and_repeated(ask: Ask, cluster: Cluster) -> None:
    """An unknown topic is 3 without a text; a repeated one is refused once with 42."""
    assert grow(ask, cluster, ("nope", 3, None), ("t", 3, None)) == {
        "nope": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "t": 0,
    }
    assert grow(ask, cluster, ("t", 4, None), ("t", 5, None)) == {"t": ErrorCode.INVALID_REQUEST}
    request = CreatePartitionsRequest(
        timeout_ms=1000, topics=[CreatePartitionsTopic(name="nope", count=3, assignments=None)]
    )
    assert ask(cluster, request, 3).results[0].error_message is None


@pytest.mark.rules("NP-2")
@pytest.mark.parametrize(
    ("brokers", "code"),
    [
        ([[1, 2]], 0),
        ([[1, 2], [2, 1]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([[1]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([[]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([[1, 1]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([[1, 55]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_assignments(ask: Ask, cluster: Cluster, brokers: list[list[int]], code: int) -> None:
    """They list exactly the new partitions, each with the topic's replication factor and known distinct brokers."""
    assert grow(ask, cluster, ("t", 3, brokers)) == {"t": code}


@pytest.mark.rules("NP-3")
@pytest.mark.parametrize("version", range(4))
def test_validate_only(ask: Ask, cluster: Cluster, version: int) -> None:
    """It checks and changes nothing, in every version."""
    assert grow(ask, cluster, ("t", 4, None), version=version, validate_only=True) == {"t": 0}
    assert grow(ask, cluster, ("t", 1, None), version=version, validate_only=True) == {
        "t": ErrorCode.INVALID_PARTITIONS
    }
    assert size(cluster) == 2
    assert grow(ask, cluster, ("t", 4, None), version=version) == {"t": 0}
    assert size(cluster) == 4


@pytest.mark.rules("NP-4")
def test_present_partitions_stay(ask: Ask, cluster: Cluster) -> None:
    """Present partitions are the same objects; new ones are empty, at epoch 0, placed in turn."""
    topic = cluster.topics.get("t")
    assert topic is not None
    before = list(topic.partitions)
    before[0].leader_epoch = 5
    grow(ask, cluster, ("t", 4, None))
    assert topic.partitions[:2] == before
    assert [partition.leader_epoch for partition in topic.partitions] == [5, 0, 0, 0]
    assert [partition.replicas for partition in topic.partitions[2:]] == [[1, 2], [2, 1]]
    assert topic.partitions[3].log.log_end_offset == 0


@pytest.mark.rules("NP-1")
@pytest.mark.parametrize(
    ("asked", "codes"),
    [
        ([("t", 10_002)], {"t": 0}),
        ([("t", 10_003)], {"t": ErrorCode.UNKNOWN_SERVER_ERROR}),
        ([("t", 2**31 - 1)], {"t": ErrorCode.UNKNOWN_SERVER_ERROR}),
        (
            [("t", 6002), ("u", 6001), ("v", 2)],
            {"t": 0, "u": ErrorCode.UNKNOWN_SERVER_ERROR, "v": ErrorCode.UNKNOWN_SERVER_ERROR},
        ),
        ([("t", 6002), ("u", 4001), ("v", 2)], {"t": 0, "u": 0, "v": ErrorCode.UNKNOWN_SERVER_ERROR}),
        ([("t", -(2**31)), ("u", 2)], {"t": ErrorCode.INVALID_PARTITIONS, "u": 0}),
    ],
)
@pytest.mark.parametrize("validate_only", [True, False])
def test_most_partitions(
    ask: Ask, cluster: Cluster, asked: list[tuple[str, int]], codes: dict[str, int], validate_only: bool
) -> None:
    """As asked of 4.3.1: 10,000 new partitions in one request; the topic that exceeds them and all after are -1."""
    cluster.topics.create("u")
    cluster.topics.create("v")
    topics = [(name, count, None) for name, count in asked]
    assert grow(ask, cluster, *topics, validate_only=validate_only) == codes
    assert size(cluster) == (asked[0][1] if not codes["t"] and not validate_only else 2)
