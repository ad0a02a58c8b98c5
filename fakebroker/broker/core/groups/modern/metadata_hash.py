"""A hash of the topics that a group subscribes to: another one tells that a topic is no longer what it was (CGE-4).

Kafka: `Utils.computeTopicHash`, `Utils.computeGroupHash`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from struct import pack
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fakebroker.broker.core.topics import Topic, Topics

_VERSION = b"\0"


def metadata_hash_of(names: Collection[str], topics: "Topics") -> int:
    """The hash of the existing ones of these topics; 0 if none exists (CGB-4)."""
    found = [topic for name in sorted(names) if (topic := topics.get(name)) is not None]
    nodes = found[0].cluster.nodes.values() if found else ()
    racks = {node.id: rack for node in nodes if (rack := node.rack) is not None}
    return group_hash({topic.name: _hash_of(topic, racks) for topic in found})


def _hash_of(topic: "Topic", racks: Mapping[int, str]) -> int:
    if not racks:
        return _hash_without_racks(topic.name, topic.id, len(topic.partitions))
    replicas = hash(tuple([tuple(partition.replicas) for partition in topic.partitions]))
    goes_by = topic.name, topic.id, replicas, hash(tuple(racks.items()))
    known = _WITH_RACKS.get(goes_by)
    if known is None:
        of_partitions = [
            [racks[node_id] for node_id in partition.replicas if node_id in racks] for partition in topic.partitions
        ]
        if len(_WITH_RACKS) >= _MOST_KNOWN:
            _WITH_RACKS.clear()
        known = _WITH_RACKS[goes_by] = topic_hash(topic.name, topic.id, of_partitions)
    return known


# Each join of a member asks for those of all topics that the group reads, in order: where there are more topics than
# places, none is found again.
_MOST_KNOWN: Final = 1 << 16
_WITH_RACKS: dict[tuple[object, ...], int] = {}  # by what they go by; of replicas and racks only hashes: they are many


@lru_cache(maxsize=_MOST_KNOWN)
def _hash_without_racks(name: str, topic_id: bytes, partitions: int) -> int:
    return topic_hash(name, topic_id, [()] * partitions)


def topic_hash(name: str, topic_id: bytes, racks: Sequence[Iterable[str]]) -> int:
    """The hash of one topic, as signed 64 bit (CGB-4).

    `racks` has for each partition, from 0 on, the racks of its replicas that have one, in any order.
    """
    high, low = int.from_bytes(topic_id[:8]), int.from_bytes(topic_id[8:])
    parts = [_VERSION, pack("<QQ", high, low), _text(name), pack("<i", len(racks))]
    for partition, of_partition in enumerate(racks):
        parts.append(pack("<i", partition))
        for rack in sorted(of_partition):
            units = rack.encode("utf-16-le", "surrogatepass")
            parts += [pack("<i", len(units) // 2), _text(rack)]
    return _xxh3(b"".join(parts))


def group_hash(topic_hashes: Mapping[str, int]) -> int:
    """The hash of a group from those of its existing topics, by name; 0 without topics (CGB-4)."""
    if not topic_hashes:
        return 0
    return _xxh3(b"".join(pack("<q", topic_hashes[name]) for name in sorted(topic_hashes)))


def _text(text: str) -> bytes:
    """A string as UTF-16 code units, then how many they are."""
    units = text.encode("utf-16-le", "surrogatepass")
    return units + pack("<i", len(units) // 2)


def _xxh3(data: bytes) -> int:
    from xxhash import xxh3_64_intdigest  # loaded with the first group that needs it

    digest = int(xxh3_64_intdigest(data))
    return digest - (1 << 64) if digest >> 63 else digest
