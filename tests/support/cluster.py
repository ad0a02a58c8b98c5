"""Clusters without a network, for tests of what is below the engine."""

from collections.abc import Mapping

from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.core.topics import Partition
from fakebroker.broker.release import release
from fakebroker.broker.settings import Settings


def make_cluster(
    settings: Mapping[str, object] | None = None,
    as_release: str = "4.3",
    *,
    profile: str = "kafka",
    node_ids: tuple[int, ...] = (1,),
    seed: int = 0,
) -> Cluster:
    """A cluster with settings by Kafka's names; the others are as the profile says."""
    return Cluster(Settings(settings or {}, profile=profile), release(as_release), seed, node_ids)


def by_kafka_name(settings: Mapping[str, object]) -> dict[str, object]:
    """Settings given as keyword arguments: max_message_bytes is max.message.bytes."""
    return {name.replace("_", "."): value for name, value in settings.items()}


def partition(cluster: Cluster, index: int = 0, topic: str = "t") -> Partition:
    """A partition of a topic that exists."""
    found = cluster.topics.get(topic)
    assert found is not None
    return found.partitions[index]
