"""The hash of the metadata of a group's topics (CGE-4)."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fakebroker.core.groups.modern.metadata_hash import group_hash, topic_hash

if TYPE_CHECKING:
    from fakebroker.core.topics import Topic, Topics


def hash_of(names: Iterable[str], topics: "Topics") -> int:
    """The hash of those of these topics that exist: of ids, names, partitions and their replicas' racks (CGB-4)."""
    found = [topic for topic in map(topics.get, names) if topic is not None]
    return group_hash({topic.name: topic_hash(topic.name, topic.id, _racks(topic)) for topic in found})


def _racks(topic: "Topic") -> list[list[str]]:
    nodes = topic.cluster.nodes
    return [
        [rack for rack in (nodes[each].rack for each in partition.replicas if each in nodes) if rack is not None]
        for partition in topic.partitions
    ]
