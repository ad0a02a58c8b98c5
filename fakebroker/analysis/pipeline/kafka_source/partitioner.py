"""Which partition a record goes to, as the Java producer chooses: by the hash of its key, or any if it has none."""

from typing import Final

from fakebroker.client.cluster.cluster_client import ClusterClient
from fakebroker.client.cluster.errors import NoSuchPartition
from fakebroker.protocol.records.offsets_topic import TopicPartition

_SEED: Final = 0x9747B28C
_MULTIPLIER: Final = 0x5BD1E995
_WORD: Final = 0xFFFFFFFF
_POSITIVE: Final = 0x7FFFFFFF
_MAX_KEYS: Final = 100_000  # whose hashes are kept: keys come again


def murmur2(data: bytes) -> int:
    """The 32-bit MurmurHash2 with the seed that Kafka's producers use."""
    size = len(data)
    hashed = _SEED ^ size
    whole = size & ~3
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at : at + 4], "little") * _MULTIPLIER & _WORD
        word = (word ^ word >> 24) * _MULTIPLIER & _WORD
        hashed = (hashed * _MULTIPLIER & _WORD) ^ word
    if size > whole:
        hashed = (hashed ^ int.from_bytes(data[whole:], "little")) * _MULTIPLIER & _WORD
    hashed = (hashed ^ hashed >> 13) * _MULTIPLIER & _WORD
    return hashed ^ hashed >> 15


class Partitioner:
    """Chooses partitions. Records without a key and a partition go, a batch of rows after the other, to the next."""

    def __init__(self, cluster: ClusterClient) -> None:
        self._cluster = cluster
        self._partitions: dict[str, list[TopicPartition]] = {}
        self._hashes: dict[bytes, int] = {}
        self._turn = _first_turn()

    def begin_batch(self) -> None:
        """The rows that follow are a batch of their own."""
        self._turn += 1

    def partition_of(self, topic: str, key: bytes | None, index: int | None) -> TopicPartition:
        """The partition that a row names, else by key, else by turn. Raises NoSuchPartition."""
        partitions = self._partitions.get(topic) or self._ask(topic)
        if index is not None:
            if not 0 <= index < len(partitions):
                raise NoSuchPartition(f"topic {topic!r} has no partition {index}: it has {len(partitions)} partitions")
            return partitions[index]
        if key is None:
            return partitions[self._turn % len(partitions)]
        hashed = self._hashes.get(key)
        if hashed is None:
            if len(self._hashes) >= _MAX_KEYS:
                self._hashes.clear()
            hashed = self._hashes[key] = murmur2(key) & _POSITIVE
        return partitions[hashed % len(partitions)]

    def _ask(self, topic: str) -> list[TopicPartition]:
        count = self._cluster.partition_count(topic)
        found = self._partitions[topic] = [TopicPartition(topic, index) for index in range(count)]
        return found


def _first_turn() -> int:
    """Where a task begins: tasks that run together do not all write to the same partition."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return context.partitionId() if context is not None else 0
