"""Metadata: brokers, topics, partitions."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.release import release
from fakebroker.broker.settings import Settings
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.support.cluster import make_cluster

Ask = Callable[..., Any]
NOT_ASKED = -2147483648


@pytest.fixture
def cluster() -> Cluster:
    """Three brokers; topic `t` of three partitions with three replicas each."""
    cluster = Cluster(Settings(profile="test"), release(), node_ids=(1, 2, 3))
    cluster.topics.create("t", 3, 3)
    return cluster


def named(*names: str | None, **fields: Any) -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names], **fields)


def codes(response: Any) -> dict[str | None, int]:
    return {topic.name: topic.error_code for topic in response.topics}


@pytest.mark.rules("MD-1")
def test_which_topics(ask: Ask, cluster: Cluster) -> None:
    """v0 with an empty list, and later versions with null, ask for all topics; v1 with an empty list for none."""
    assert codes(ask(cluster, MetadataRequest(topics=[]), 0)) == {"t": 0}
    assert codes(ask(cluster, MetadataRequest(topics=None), 1)) == {"t": 0}
    assert codes(ask(cluster, MetadataRequest(topics=[]), 1)) == {}


@pytest.mark.rules("CLU-20", "MD-7")
@pytest.mark.parametrize("version", range(14))
def test_every_version(ask: Ask, cluster: Cluster, version: int) -> None:
    """Live brokers, the topic and its partitions in every version; a topic asked for twice comes once."""
    response = ask(cluster, named("t", "t"), version)
    assert [(broker.node_id, broker.port) for broker in response.brokers] == [(1, 9092), (2, 9093), (3, 9094)]
    [topic] = response.topics
    assert (topic.name, topic.error_code, topic.is_internal) == ("t", 0, False)
    assert [partition.leader_id for partition in topic.partitions] == [1, 2, 3]
    assert topic.partitions[1].replica_nodes == [2, 3, 1]
    assert (response.cluster_id, response.controller_id) == (
        (cluster.cluster_id if version >= 2 else None), (1 if version >= 1 else -1)
    )  # fmt: skip


@pytest.mark.rules("MD-2", "NT-11")
def test_auto_creation(ask: Ask, cluster: Cluster) -> None:
    """An unknown topic is made with the broker's defaults, this answer says 3, the next one has it."""
    assert codes(ask(cluster, named("new"), 12)) == {"new": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    [topic] = ask(cluster, named("new"), 12).topics
    assert (topic.error_code, len(topic.partitions), len(topic.partitions[0].replica_nodes)) == (0, 1, 1)


@pytest.mark.rules("NT-11", "MD-2")
def test_auto_creation_of_too_many_partitions(ask: Ask) -> None:
    """What is more than one CreateTopics may make is not made, and the client goes on seeing 3."""
    cluster = make_cluster({"num.partitions": 5_000})
    cluster.topics.create("t", 1)
    names = ["a", "b", "c"]
    assert codes(ask(cluster, named("t", *names), 12)) == {"t": 0, **dict.fromkeys(names, 3)}
    assert codes(ask(cluster, named("t", *names), 12)) == {"t": 0, **dict.fromkeys(names, 3)}
    assert [topic.name for topic in cluster.topics] == ["t"]
    assert codes(ask(cluster, named("t", "a", "b"), 12)) == {"t": 0, "a": 3, "b": 3}
    assert codes(ask(cluster, named(*names), 12)) == {"a": 0, "b": 0, "c": 3}
    assert len(cluster.topics) == 4


@pytest.mark.rules("MD-2")
def test_auto_creation_before_kraft(ask: Ask) -> None:
    """Releases with ZooKeeper said 5 where KRaft says 3."""
    older = Cluster(Settings(profile="test"), release("2.1"))
    assert codes(ask(older, named("new"), 7)) == {"new": ErrorCode.LEADER_NOT_AVAILABLE}
    assert codes(ask(older, named("other", allow_auto_topic_creation=False), 7)) == {
        "other": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    }
    assert codes(ask(older, named("new"), 7)) == {"new": 0}


@pytest.mark.rules("MD-2")
def test_auto_creation_that_is_not_allowed(ask: Ask, cluster: Cluster) -> None:
    """The client or the broker may forbid it; before v4 the client has no say."""
    assert codes(ask(cluster, named("new", allow_auto_topic_creation=False), 12)) == {
        "new": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    }
    assert "new" not in cluster.topics
    assert codes(ask(cluster, named("new"), 3)) == {"new": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert "new" in cluster.topics
    cluster.settings.set_own("auto.create.topics.enable", False)
    ask(cluster, named("other"), 12)
    assert "other" not in cluster.topics


@pytest.mark.rules("MD-2", "MD-7")
def test_auto_creation_of_internal_topics(ask: Ask, cluster: Cluster) -> None:
    """An internal topic that a client asks for is made as the broker itself would make it."""
    ask(cluster, named("__consumer_offsets"), 12)
    [topic] = ask(cluster, named("__consumer_offsets"), 12).topics
    assert (topic.is_internal, len(topic.partitions)) == (True, 50)


@pytest.mark.rules("MD-2", "NT-4")
@pytest.mark.parametrize("name", ["", ".", "..", "a b", "ä", "x" * 250])
def test_illegal_names(ask: Ask, cluster: Cluster, name: str) -> None:
    """A name that no topic can have is 17, whether auto-creation is allowed or not."""
    assert codes(ask(cluster, named(name), 12)) == {name: ErrorCode.INVALID_TOPIC_EXCEPTION}
    assert codes(ask(cluster, named(name, allow_auto_topic_creation=False), 12)) == {
        name: ErrorCode.INVALID_TOPIC_EXCEPTION
    }


def test_a_name_too_like_another_is_not_made(ask: Ask, cluster: Cluster) -> None:
    """Where auto-creation fails the client goes on seeing 3."""
    cluster.topics.create("a.b", 1, 1)
    assert codes(ask(cluster, named("a_b"), 12)) == {"a_b": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert "a_b" not in cluster.topics


@pytest.mark.rules("MD-3")
def test_topics_by_id(ask: Ask, cluster: Cluster) -> None:
    """From v12 on an id decides, names in the same request are left out, an unknown id is 100 with a null name."""
    topic = cluster.topics.get("t")
    assert topic is not None
    known = MetadataRequestTopic(topic_id=topic.id, name="other")
    unknown = MetadataRequestTopic(topic_id=b"\x01" * 16, name=None)
    by_name = MetadataRequestTopic(name="t2")
    response = ask(cluster, MetadataRequest(topics=[known, unknown, by_name]), 12)
    assert codes(response) == {"t": 0, None: ErrorCode.UNKNOWN_TOPIC_ID}
    assert response.topics[0].topic_id == topic.id


@pytest.mark.rules("MD-3")
@pytest.mark.parametrize("version", [10, 11])
def test_ids_too_early(ask: Ask, cluster: Cluster, version: int) -> None:
    """v10 and v11 have the field but refuse the whole request with 42."""
    topics = [MetadataRequestTopic(topic_id=b"\x01" * 16, name=None), MetadataRequestTopic(name="t")]
    response = ask(cluster, MetadataRequest(topics=topics), version)
    assert codes(response) == {"": ErrorCode.INVALID_REQUEST, "t": ErrorCode.INVALID_REQUEST}
    assert response.topics[0].topic_id == b"\x01" * 16
    assert (response.brokers, response.cluster_id, response.controller_id) == ([], None, -1)


@pytest.mark.rules("MD-3")
def test_neither_name_nor_id(ask: Ask, cluster: Cluster) -> None:
    """A null name with a zero id fails the request with -1, in v13 also at the top, if no other entry has an id."""
    assert codes(ask(cluster, named(None), 12)) == {"": ErrorCode.UNKNOWN_SERVER_ERROR}
    assert ask(cluster, named(None), 13).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    beside = [MetadataRequestTopic(topic_id=b"\x01" * 16, name=None), MetadataRequestTopic(name=None)]
    assert codes(ask(cluster, MetadataRequest(topics=beside), 13)) == {None: ErrorCode.UNKNOWN_TOPIC_ID}


@pytest.mark.rules("MD-5", "CLU-22", "CLU-23")
def test_dead_brokers(ask: Ask, cluster: Cluster) -> None:
    """v0 leaves dead replicas out and says 9, or 5 without a leader; v5 and later list them as offline."""
    topic = cluster.topics.get("t")
    assert topic is not None
    cluster.stop_node(3, Instant(0, 0))
    topic.partitions[2].lead(-1, Instant(0, 0))
    oldest = ask(cluster, named("t"), 0).topics[0].partitions
    assert [(each.error_code, each.replica_nodes) for each in oldest] == [
        (ErrorCode.REPLICA_NOT_AVAILABLE, [1, 2]),
        (ErrorCode.REPLICA_NOT_AVAILABLE, [2, 1]),
        (ErrorCode.LEADER_NOT_AVAILABLE, [1, 2]),
    ]
    newer = ask(cluster, named("t"), 4).topics[0].partitions
    assert [(each.error_code, each.replica_nodes) for each in newer] == [
        (0, [1, 2, 3]),
        (0, [2, 3, 1]),
        (ErrorCode.LEADER_NOT_AVAILABLE, [3, 1, 2]),
    ]
    newest = ask(cluster, named("t"), 7).topics[0].partitions
    assert [each.offline_replicas for each in newest] == [[3], [3], [3]]
    assert [each.node_id for each in ask(cluster, named("t"), 7).brokers] == [1, 2]


@pytest.mark.rules("MD-4")
def test_leaders(ask: Ask, cluster: Cluster) -> None:
    """Leader and leader epoch are those that Fetch and ListOffsets ask for; without a leader it is -1, with code 5."""
    topic = cluster.topics.get("t")
    assert topic is not None
    partition = topic.partitions[0]
    partition.lead(2, Instant(0, 0))
    [answered, *_] = ask(cluster, named("t"), 7).topics[0].partitions
    assert (answered.error_code, answered.leader_id) == (0, 2)
    assert partition.error_for_access(answered.leader_id, answered.leader_epoch) is ErrorCode.NONE
    assert partition.error_for_access(answered.leader_id, answered.leader_epoch - 1) is ErrorCode.FENCED_LEADER_EPOCH

    partition.lead(-1, Instant(0, 0))
    [answered, *_] = ask(cluster, named("t"), 7).topics[0].partitions
    assert (answered.error_code, answered.leader_id) == (ErrorCode.LEADER_NOT_AVAILABLE, -1)


@pytest.mark.rules("MD-6", "AU-14")
def test_authorized_operations(ask: Ask, cluster: Cluster) -> None:
    """Asked for, all bits of the resource; not asked for, the smallest number; unknown topics too."""
    asked = named("t", "unknown", include_topic_authorized_operations=True, include_cluster_authorized_operations=True)
    response = ask(cluster, asked, 8)
    assert response.cluster_authorized_operations == 8096
    assert [topic.topic_authorized_operations for topic in response.topics] == [3576, 3576]
    response = ask(cluster, named("t"), 8)
    assert response.cluster_authorized_operations == NOT_ASKED
    assert [topic.topic_authorized_operations for topic in response.topics] == [NOT_ASKED]


@pytest.mark.rules("CLU-20")
def test_rack_and_controller(ask: Ask, cluster: Cluster) -> None:
    """Brokers carry their rack; the controller is a live broker."""
    cluster.nodes[2].settings.set_own("broker.rack", "r2")
    assert [broker.rack for broker in ask(cluster, named("t"), 9).brokers] == [None, "r2", None]
    cluster.stop_node(1, Instant(0, 0))
    assert ask(cluster, named("t"), 9).controller_id == 2


@pytest.mark.rules("MD-2")
def test_invalid_names_in_2_1(ask: Ask) -> None:
    """2.1.1 looks at a name only when it creates a topic."""
    old = Cluster(Settings(profile="test"), release("2.1"))

    assert codes(ask(old, named("a b", allow_auto_topic_creation=False), 7)) == {
        "a b": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    }
    assert codes(ask(old, named("a b"), 7)) == {"a b": ErrorCode.INVALID_TOPIC_EXCEPTION}
