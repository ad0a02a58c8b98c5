"""Topics and partitions: what exists, under which id, where."""

from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.core.topic_rules import assign_replicas, check_assignments, check_name
from fakebroker.broker.core.topics import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE, Partition, Topic
from fakebroker.broker.release import release
from fakebroker.broker.settings import Settings
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant

NOW = Instant(1000, 10)


@pytest.fixture
def cluster() -> Cluster:
    """Three brokers with Kafka's defaults."""
    return Cluster(Settings(), release(), node_ids=(1, 2, 3))


def code(error: pytest.ExceptionInfo[KafkaError]) -> ErrorCode:
    return error.value.code


def test_found_by_name_and_by_id(cluster: Cluster) -> None:
    """A topic is found both ways, and iteration is in the order of creation."""
    names = ["b", "a", "c"]
    made = [cluster.topics.create(name) for name in names]
    assert [topic.name for topic in cluster.topics] == names
    assert [cluster.topics.by_id(topic.id) for topic in made] == made
    assert cluster.topics.get("nope") is None
    assert cluster.topics.by_id(bytes(16)) is None
    assert ("a" in cluster.topics, len(cluster.topics)) == (True, 3)


def test_defaults_of_the_broker(cluster: Cluster) -> None:
    """Without counts a topic gets the broker's."""
    cluster.settings.set_own("num.partitions", 4)
    cluster.settings.set_own("default.replication.factor", 2)
    topic = cluster.topics.create("t")
    assert (len(topic.partitions), topic.replication_factor) == (4, 2)


def test_partitions_by_index(cluster: Cluster) -> None:
    """An index that is not there is None, also a negative one."""
    topic = cluster.topics.create("t", 2)
    assert topic.partition(1) is topic.partitions[1]
    assert [topic.partition(index) for index in (-1, 2)] == [None, None]


def test_refusals_carry_kafkas_code(cluster: Cluster) -> None:
    """Each reason has its own."""
    cluster.topics.create("a.b")
    for arguments, expected in (
        (("a b",), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (("a_b",), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (("a.b",), ErrorCode.TOPIC_ALREADY_EXISTS),
        (("t", 1, 1, {"no.such": "1"}), ErrorCode.INVALID_CONFIG),
        (("t", 0), ErrorCode.INVALID_PARTITIONS),
        (("t", 1, 4), ErrorCode.INVALID_REPLICATION_FACTOR),
        (("t", None, None, None, [[9]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ):
        with pytest.raises(KafkaError) as error:
            cluster.topics.create(*arguments)
        assert code(error) == expected


@pytest.mark.rules("NT-4", "XT-6")
def test_a_deleted_name_is_free_again(cluster: Cluster) -> None:
    """Also for a name that was too like it."""
    cluster.topics.create("a.b")
    cluster.topics.delete("a.b", NOW)
    cluster.topics.create("a_b")
    with pytest.raises(KeyError):
        cluster.topics.delete("a.b", NOW)


def test_others_hear_of_a_deletion_when_it_is_done(cluster: Cluster) -> None:
    """At that moment the topic is gone."""
    topic = cluster.topics.create("t")
    seen: list[tuple[Topic, bool]] = []
    cluster.topics.on_deleted.append(lambda gone, _now: seen.append((gone, "t" in cluster.topics)))
    cluster.topics.delete("t", NOW)
    assert seen == [(topic, False)]


@pytest.mark.rules("FC-5", "CR-1", "MD-7", "TS-1", "CLU-2")
@pytest.mark.parametrize(
    ("name", "config"),
    [
        (CONSUMER_OFFSETS, {"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "104857600"}),
        (
            TRANSACTION_STATE,
            {"cleanup.policy": "compact", "compression.type": "uncompressed", "min.insync.replicas": "2"},
        ),
        (SHARE_GROUP_STATE, {"cleanup.policy": "delete", "retention.ms": "-1", "segment.bytes": "104857600"}),
    ],
)
def test_internal_topics(cluster: Cluster, name: str, config: dict[str, str]) -> None:
    """Made once, when first needed, with 50 partitions over all brokers in turn, their logs when first used."""
    topic = cluster.topics.internal(name)
    assert cluster.topics.internal(name) is topic
    assert (topic.is_internal, len(topic.partitions), topic.replication_factor) == (True, 50, 3)
    assert config.items() <= topic.config.own.items()
    assert [partition.leader for partition in topic.partitions[:4]] == [1, 2, 3, 1]
    assert not any(partition.has_log for partition in topic.partitions)


def test_internal_topics_of_a_small_cluster() -> None:
    """With fewer brokers than replicas there are as many replicas as brokers."""
    topic = Cluster(Settings(), release()).topics.internal(CONSUMER_OFFSETS)
    assert topic.replication_factor == 1


@pytest.mark.rules("CLU-6", "CLU-25")
def test_the_first_live_replica_leads(cluster: Cluster) -> None:
    """A topic can be made while a broker is down: replicas count, the ISR holds the live ones."""
    cluster.stop_node(1, NOW)
    partition = cluster.topics.create("t", assignments=[[1, 2, 3]]).partitions[0]
    assert (partition.replicas, partition.isr, partition.leader, partition.leader_epoch) == ([1, 2, 3], [2, 3], 2, 0)
    with pytest.raises(KafkaError, match="none of the brokers of a partition") as error:
        cluster.topics.create("u", assignments=[[2], [1]])
    assert code(error) == ErrorCode.INVALID_REPLICA_ASSIGNMENT


@pytest.mark.rules("CLU-25")
def test_new_partitions_are_placed_on_live_brokers(cluster: Cluster) -> None:
    """Those that are stopped get replicas only where the live ones are too few, and lead none; all stopped: 38."""
    cluster.stop_node(2, NOW)
    assert [p.replicas for p in cluster.topics.create("t", 3, 2).partitions] == [[1, 3], [3, 1], [1, 3]]
    assert [p.replicas for p in cluster.topics.create("u", 2, 3).partitions] == [[1, 3, 2], [3, 1, 2]]
    cluster.stop_node(1, NOW)
    cluster.stop_node(3, NOW)
    with pytest.raises(KafkaError) as error:
        cluster.topics.create("v")
    assert code(error) == ErrorCode.INVALID_REPLICATION_FACTOR


@pytest.mark.rules("CLU-24")
def test_leader_epochs(cluster: Cluster) -> None:
    """0 at creation, one more with each change of leader, also to none; who leads already changes nothing."""
    partition = cluster.topics.create("t", 1, 3).partitions[0]
    heard: list[Partition] = []
    cluster.topics.on_leader_changed.append(lambda changed, _now: heard.append(changed))
    for node_id in (1, 2, 2, -1):
        partition.lead(node_id, NOW)
    assert (partition.leader, partition.leader_epoch) == (-1, 2)
    assert heard == [partition, partition]


def test_a_log_is_made_when_it_is_looked_at(cluster: Cluster) -> None:
    """And is the same log from then on."""
    partition = cluster.topics.create("t").partitions[0]
    assert not partition.has_log
    assert partition.log is partition.log
    assert partition.has_log


@pytest.mark.rules("NT-4", "MD-2")
@given(st.text(max_size=260))
def test_names(name: str) -> None:
    """Exactly 1 to 249 of the legal characters, but not "." and ".."."""
    legal = 1 <= len(name) <= 249 and name.isascii() and all(c.isalnum() or c in "._-" for c in name)
    legal = legal and name not in (".", "..")
    refusal = nullcontext() if legal else pytest.raises(KafkaError, match="is not a valid topic name")
    with refusal:
        check_name(name)


@given(
    st.integers(0, 20), st.integers(1, 30), st.lists(st.integers(1, 9), min_size=1, max_size=9, unique=True), st.data()
)
def test_placement(first: int, count: int, node_ids: list[int], data: st.DataObject) -> None:
    """Every partition gets distinct brokers, leadership differs by at most one, and growing a topic goes on in turn."""
    replication_factor = data.draw(st.integers(1, len(node_ids)))
    placed = assign_replicas(first, count, replication_factor, node_ids)
    check_assignments(placed, node_ids, replication_factor)
    leaders = [replicas[0] for replicas in placed]
    counts = [leaders.count(node_id) for node_id in node_ids]
    assert max(counts) - min(counts) <= 1
    assert assign_replicas(0, first, replication_factor, node_ids) + placed == assign_replicas(
        0, first + count, replication_factor, node_ids
    )


@pytest.mark.parametrize("partitions", [10_000, 10**9, 99_999_999_999])
def test_too_many_partitions(cluster: Cluster, partitions: int) -> None:
    """Whoever asks: the error names the number and the limit, and nothing is made."""
    with pytest.raises(KafkaError, match=f"{partitions} partitions are too many: .* 9999 at most") as error:
        cluster.topics.create("t", partitions)
    assert code(error) is ErrorCode.POLICY_VIOLATION
    cluster.settings.set_own("num.partitions", min(partitions, 2**31 - 1))
    with pytest.raises(KafkaError, match="too many"):
        cluster.topics.create("t")
    assert len(cluster.topics) == 0


def test_an_internal_topic_with_too_many_partitions() -> None:
    """Who asks for a coordinator hears that there is none, as from a Kafka that fails to make the topic."""
    cluster = Cluster(Settings({"offsets.topic.num.partitions": 2_000_000_000}), release())
    with pytest.raises(KafkaError, match="too many") as error:
        cluster.topics.internal(CONSUMER_OFFSETS)
    assert code(error) is ErrorCode.COORDINATOR_NOT_AVAILABLE
