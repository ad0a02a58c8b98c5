"""The hash over the topics of a group, given and as they are in the cluster (CGB-4)."""

from base64 import urlsafe_b64decode

import pytest

from fakebroker.broker.core.groups.modern.metadata_hash import group_hash, metadata_hash_of, topic_hash
from tests.support.cluster import make_cluster
from tests.support.work_counter import calls_of

NAME, TOPIC_ID = "rt1795223098", urlsafe_b64decode("jdj1OVblTTagsVXZQEZYlQ==")


@pytest.mark.rules("CGB-4")
def test_the_hash_that_kafka_stored() -> None:
    """A topic with two partitions and no racks, and the record of a group that had subscribed to it."""
    assert group_hash({NAME: topic_hash(NAME, TOPIC_ID, [(), ()])}) == 6605259546703524770


@pytest.mark.rules("CGB-4")
def test_a_group_without_topics_has_no_hash() -> None:
    """Then the field is 0 and is not written."""
    assert group_hash({}) == 0


@pytest.mark.rules("CGB-4")
def test_order_does_not_matter() -> None:
    """Topics count in order of their names, racks in their own order."""
    assert group_hash({"a": 1, "b": -2}) == group_hash({"b": -2, "a": 1})
    assert topic_hash(NAME, TOPIC_ID, [["east", "west"]]) == topic_hash(NAME, TOPIC_ID, [["west", "east"]])


@pytest.mark.rules("CGE-4", "CGB-4")
def test_everything_of_a_topic_counts() -> None:
    """Another id, name, number of partitions or rack is another hash."""
    hashes = [
        topic_hash(NAME, TOPIC_ID, [(), ()]),
        topic_hash(NAME, bytes(16), [(), ()]),
        topic_hash("other", TOPIC_ID, [(), ()]),
        topic_hash(NAME, TOPIC_ID, [()]),
        topic_hash(NAME, TOPIC_ID, [["east"], ()]),
        topic_hash(NAME, TOPIC_ID, [(), ["east"]]),
        topic_hash(NAME, TOPIC_ID, [["eas", "t"], ()]),
    ]

    assert len(set(hashes)) == len(hashes)


@pytest.mark.rules("CGE-4", "CGB-4")
def test_topics_that_do_not_exist_do_not_count() -> None:
    """Without any existing topic it is 0."""
    cluster = make_cluster()
    topic = cluster.topics.create("t", 3, 1)

    alone = metadata_hash_of(["t"], cluster.topics)

    assert alone == group_hash({"t": topic_hash("t", topic.id, [[], [], []])})
    assert metadata_hash_of(["missing", "t"], cluster.topics) == alone
    assert metadata_hash_of(["missing"], cluster.topics) == 0


@pytest.mark.rules("CGE-4")
def test_every_change_is_another_hash() -> None:
    """More partitions, more topics, the same name with another id."""
    cluster = make_cluster()
    names = ["t", "u"]
    seen = [metadata_hash_of(names, cluster.topics)]
    cluster.topics.create("t", 3, 1).add_partitions([[1]])
    seen.append(metadata_hash_of(names, cluster.topics))
    cluster.topics.create("u", 1, 1)
    seen.append(metadata_hash_of(names, cluster.topics))
    cluster.topics.create("v", 4, 1)
    assert metadata_hash_of(names, cluster.topics) == seen[-1]
    cluster.topics.create("w", 1, 1)
    seen.append(metadata_hash_of(["u", "w"], cluster.topics))

    assert len(set(seen)) == len(seen)


@pytest.mark.rules("CGE-4", "CGB-4")
def test_the_racks_of_replicas_count() -> None:
    """Those of brokers that have one."""
    cluster = make_cluster(node_ids=(1, 2))
    topic = cluster.topics.create("t", assignments=[[1], [2]])
    without = metadata_hash_of(["t"], cluster.topics)
    cluster.nodes[2].settings.set_own("broker.rack", "r2")

    assert metadata_hash_of(["t"], cluster.topics) == group_hash({"t": topic_hash("t", topic.id, [[], ["r2"]])})
    assert metadata_hash_of(["t"], cluster.topics) != without


def test_hashes_of_very_many_topics_are_computed_once() -> None:
    """Each change of a group asks for those of all its topics."""
    cluster = make_cluster()
    names = [f"t{number}" for number in range(6_000)]
    for name in names:
        cluster.topics.create(name, 1)
    first = calls_of(lambda: metadata_hash_of(names, cluster.topics))
    assert calls_of(lambda: metadata_hash_of(names, cluster.topics)) < first / 1.5


@pytest.mark.rules("CGE-4", "CGB-4")
def test_the_racks_of_very_many_partitions_are_sorted_once() -> None:
    """Until a partition has other replicas, or a broker another rack."""
    cluster = make_cluster(node_ids=(1, 2))
    for node_id, rack in ((1, "a"), (2, "b")):
        cluster.nodes[node_id].settings.set_own("broker.rack", rack)
    topic = cluster.topics.create("t", 1_000, 2)

    def present() -> int:
        return metadata_hash_of(["t"], cluster.topics)

    def expected(rack: str) -> int:
        racks = [["a"] if index == 5 else ["a", rack] for index in range(1_000)]
        return group_hash({"t": topic_hash("t", topic.id, racks)})

    first, made = calls_of(present), present()
    assert calls_of(present) < first / 5
    topic.partitions[5].replicas = [1]
    assert made != present() == expected("b")
    cluster.nodes[2].settings.set_own("broker.rack", "c")
    assert present() == expected("c")
