"""The cluster: ids from one seeded source, nodes and their settings."""

import base64
import re

import pytest

from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.release import release
from fakebroker.broker.settings import Settings
from fakebroker.protocol.instant import Instant


def make(seed: int = 0, as_release: str = "4.3", node_ids: tuple[int, ...] = (1,)) -> Cluster:
    return Cluster(Settings(profile="test"), release(as_release), seed, node_ids)


def some_ids(cluster: Cluster) -> list[object]:
    return [cluster.cluster_id, cluster.new_uuid(), cluster.new_member_id("a"), cluster.new_uuid()]


def test_ids_follow_from_the_seed() -> None:
    """The same seed gives the same ids, another seed others."""
    assert some_ids(make(7)) == some_ids(make(7))
    assert some_ids(make(7)) != some_ids(make(8))


def test_uuids() -> None:
    """They are of version 4, all different, and their text never begins with a hyphen."""
    cluster = make()
    ids = [cluster.new_uuid() for _ in range(2000)]
    assert len(set(ids)) == 2000
    assert all(data[6] >> 4 == 4 and data[8] >> 6 == 2 for data in ids)
    assert not any(base64.urlsafe_b64encode(data).startswith(b"-") for data in ids)


@pytest.mark.rules("JG-14")
def test_member_ids() -> None:
    """The prefix, a hyphen and a UUID."""
    assert re.fullmatch(
        r"my-client-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
        make().new_member_id("my-client"),
    )


def test_the_cluster_id_has_kafkas_form() -> None:
    """22 characters of URL-safe base64."""
    assert re.fullmatch(r"[A-Za-z0-9_-]{22}", make().cluster_id)


def test_producer_ids_count() -> None:
    """Each is one more than the last."""
    cluster = make()
    assert [cluster.new_producer_id() for _ in range(3)] == [0, 1, 2]


def test_nodes() -> None:
    """Each has its id among its settings; the first one's settings are the cluster's."""
    cluster = make(node_ids=(1, 5))
    assert [node.settings.get_int("node.id") for node in cluster.nodes.values()] == [1, 5]
    assert cluster.settings is cluster.nodes[1].settings
    cluster.stop_node(5, Instant(0, 0))
    assert cluster.live([5, 1, 9]) == [1]


@pytest.mark.rules("CLU-20")
def test_controller() -> None:
    """A live broker, -1 without any."""
    cluster = make(node_ids=(1, 2))
    assert cluster.controller_id == 1
    cluster.stop_node(1, Instant(0, 0))
    assert cluster.controller_id == 2
    cluster.stop_node(2, Instant(0, 0))
    assert cluster.controller_id == -1


@pytest.mark.rules("DC-6")
def test_a_new_cluster_of_4_holds_min_insync_replicas() -> None:
    """As a dynamic default of the cluster; older releases do not."""
    assert make().settings.dynamic(cluster=True) == {"min.insync.replicas": "1"}
    assert make(as_release="3.9").settings.dynamic(cluster=True) == {}


def test_a_release_brings_its_defaults() -> None:
    """The defaults of the release count where nothing else was set."""
    assert make(as_release="3.9").settings.get_int("log.message.timestamp.after.max.ms") == 2**63 - 1
    assert make().settings.get_int("log.message.timestamp.after.max.ms") == 3_600_000


def test_what_a_node_knows_is_made_when_asked() -> None:
    """Coordinator and fetch sessions are the same object each time, and another node's are others."""
    cluster = make(node_ids=(1, 2))
    one, two = cluster.nodes[1], cluster.nodes[2]
    assert one.coordinator is one.coordinator is not two.coordinator
    assert one.fetch_sessions is one.fetch_sessions is not two.fetch_sessions
