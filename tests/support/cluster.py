"""Clusters without a network, for tests of what is below the engine."""

from fakebroker.core.cluster import Cluster
from fakebroker.core.topics import Partition


def partition(cluster: Cluster, index: int = 0, topic: str = "t") -> Partition:
    """A partition of a topic that exists."""
    found = cluster.topics.get(topic)
    assert found is not None
    return found.partitions[index]
