"""DescribeTopicPartitions: page by page."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.release import release
from fakebroker.broker.settings import Settings
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)

Ask = Callable[..., Any]
Page = tuple[list[tuple[str, int, list[int]]], tuple[str, int] | None]


@pytest.fixture
def cluster() -> Cluster:
    """Two brokers; topics b (3 partitions) and a (2)."""
    cluster = Cluster(Settings(profile="test"), release(), node_ids=(1, 2))
    cluster.topics.create("b", 3, 2)
    cluster.topics.create("a", 2, 2)
    return cluster


def describe(ask: Ask, cluster: Cluster, *names: str, limit: int = 2000, cursor: tuple[str, int] | None = None) -> Page:
    """The topics with code and partitions, and the cursor."""
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in names],
        response_partition_limit=limit,
        cursor=None if cursor is None else Cursor(topic_name=cursor[0], partition_index=cursor[1]),
    )
    response = ask(cluster, request, 0)
    topics = [
        (topic.name, topic.error_code, [partition.partition_index for partition in topic.partitions])
        for topic in response.topics
    ]
    after = response.next_cursor
    return topics, None if after is None else (after.topic_name, after.partition_index)


@pytest.mark.rules("TP-1")
def test_sorted_and_once(ask: Ask, cluster: Cluster) -> None:
    """Topics come by name, repeated ones once, all of them for an empty list; unknown 3, bad names 17."""
    both = [("a", 0, [0, 1]), ("b", 0, [0, 1, 2])]
    assert describe(ask, cluster, "b", "a", "b") == (both, None)
    assert describe(ask, cluster) == (both, None)
    assert describe(ask, cluster, "nope", "a b") == (
        [("a b", ErrorCode.INVALID_TOPIC_EXCEPTION, []), ("nope", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, [])],
        None,
    )


@pytest.mark.rules("TP-1", "TP-4")
def test_an_empty_name_fails_the_whole_request(ask: Ask, cluster: Cluster) -> None:
    """Every topic is UNKNOWN_SERVER_ERROR without operations, unless the cursor skips the empty name."""
    request = DescribeTopicPartitionsRequest(topics=[TopicRequest(name="a"), TopicRequest(name="")])

    failed = [
        (each.name, each.error_code, each.topic_authorized_operations) for each in ask(cluster, request, 0).topics
    ]

    assert failed == [(name, ErrorCode.UNKNOWN_SERVER_ERROR, -(1 << 31)) for name in ("a", "")]
    assert describe(ask, cluster, "a", "", cursor=("a", 1)) == ([("a", 0, [1])], None)


@pytest.mark.rules("TP-2")
def test_limit(ask: Ask, cluster: Cluster) -> None:
    """At most so many partitions, at least one, never more than the broker allows; a topic with an error is none."""
    assert describe(ask, cluster, limit=3) == ([("a", 0, [0, 1]), ("b", 0, [0])], ("b", 1))
    assert describe(ask, cluster, limit=2) == ([("a", 0, [0, 1])], ("b", 0))
    assert describe(ask, cluster, limit=0) == ([("a", 0, [0])], ("a", 1))
    assert describe(ask, cluster, "a0", "b", limit=1) == (
        [("a0", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, []), ("b", 0, [0])],
        ("b", 1),
    )
    assert describe(ask, cluster, "a", "b", limit=1, cursor=("a", 2)) == ([("a", 0, []), ("b", 0, [0])], ("b", 1))
    cluster.settings.set_own("max.request.partition.size.limit", 1)
    assert describe(ask, cluster) == ([("a", 0, [0])], ("a", 1))


@pytest.mark.rules("TP-2", "TP-3")
def test_pages_join_to_the_whole(ask: Ask, cluster: Cluster) -> None:
    """Following the cursor shows every partition once, in order, for every page size."""
    for limit in range(1, 7):
        seen: list[tuple[str, int]] = []
        cursor: tuple[str, int] | None = None
        while True:
            topics, cursor = describe(ask, cluster, limit=limit, cursor=cursor)
            seen += [(name, index) for name, _, indexes in topics for index in indexes]
            if cursor is None:
                break
        assert seen == [("a", 0), ("a", 1), ("b", 0), ("b", 1), ("b", 2)]


@pytest.mark.rules("TP-3")
@pytest.mark.parametrize(
    ("names", "cursor", "refused"),
    [
        (("b", "a"), ("c", 0), True),
        (("b",), ("b", -1), True),
        (("b",), ("a", 0), True),
        (("a", "b"), ("a0", 0), True),
        (("a", "b"), ("b", 7), False),
        ((), ("c", 0), False),
    ],
)
def test_cursors_that_cannot_be(
    ask: Ask, cluster: Cluster, names: tuple[str, ...], cursor: tuple[str, int], refused: bool
) -> None:
    """A negative partition, or a topic that is not in the list, even if a later one is: 42 on every topic."""
    topics, _ = describe(ask, cluster, *names, cursor=cursor)
    assert (topics == [(name, ErrorCode.INVALID_REQUEST, []) for name in names] and bool(names)) == refused


@pytest.mark.rules("TP-4", "CLU-22")
def test_what_is_shown(ask: Ask, cluster: Cluster) -> None:
    """Operations are always filled in, except where the cursor was refused; offline replicas are listed."""
    cluster.stop_node(2, Instant(0, 0))
    response = ask(cluster, DescribeTopicPartitionsRequest(topics=[TopicRequest(name="a"), TopicRequest(name="x")]), 0)
    assert [topic.topic_authorized_operations for topic in response.topics] == [3576, 3576]
    topic = cluster.topics.get("a")
    assert topic is not None
    assert response.topics[0].topic_id == topic.id
    partition = response.topics[0].partitions[0]
    assert (partition.leader_id, partition.replica_nodes, partition.offline_replicas) == (1, [1, 2], [2])
    assert (partition.eligible_leader_replicas, partition.last_known_elr) == ([], [])
