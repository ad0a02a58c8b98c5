"""The hash of what members of a group read, from the topics as they are now (CGE-4)."""

from collections.abc import Collection
from functools import lru_cache
from typing import TYPE_CHECKING

from fakebroker.core.groups.modern.metadata_hash import group_hash, topic_hash

if TYPE_CHECKING:
    from fakebroker.core.topics import Topic, Topics


def metadata_hash_of(names: Collection[str], topics: "Topics") -> int:
    """The hash of the existing ones of these topics; 0 if none exists (CGB-4)."""
    found = (topics.get(name) for name in sorted(names))
    return group_hash({topic.name: _hash_of(topic) for topic in found if topic is not None})


def _hash_of(topic: "Topic") -> int:
    racks = {node.id: rack for node in topic.cluster.nodes.values() if (rack := node.rack) is not None}
    if not racks:
        return _hash_without_racks(topic.name, topic.id, len(topic.partitions))
    of_partitions = [
        [racks[node_id] for node_id in partition.replicas if node_id in racks] for partition in topic.partitions
    ]
    return topic_hash(topic.name, topic.id, of_partitions)


@lru_cache(maxsize=1 << 12)  # each join of a member asks for those of all topics that the group reads
def _hash_without_racks(name: str, topic_id: bytes, partitions: int) -> int:
    return topic_hash(name, topic_id, [()] * partitions)
