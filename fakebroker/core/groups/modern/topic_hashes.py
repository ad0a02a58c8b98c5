"""The hash of what members of a group read, from the topics as they are now (CGE-4)."""

from collections.abc import Collection
from typing import TYPE_CHECKING

from fakebroker.core.groups.modern.metadata_hash import group_hash, topic_hash

if TYPE_CHECKING:
    from fakebroker.core.topics import Topic, Topics


def metadata_hash_of(names: Collection[str], topics: "Topics") -> int:
    """The hash of the existing ones of these topics; 0 if none exists (CGB-4)."""
    found = (topics.get(name) for name in sorted(names))
    return group_hash({topic.name: _hash_of(topic) for topic in found if topic is not None})


def _hash_of(topic: "Topic") -> int:
    nodes = topic.cluster.nodes
    racks = [
        [rack for node_id in partition.replicas if node_id in nodes and (rack := nodes[node_id].rack) is not None]
        for partition in topic.partitions
    ]
    return topic_hash(topic.name, topic.id, racks)
