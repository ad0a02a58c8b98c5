"""The metadata hash of topics as they are in the cluster."""

import pytest

from fakebroker.core.groups.modern.metadata_hash import group_hash, topic_hash
from fakebroker.core.groups.modern.topic_hashes import metadata_hash_of
from tests.support.cluster import make_cluster


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
