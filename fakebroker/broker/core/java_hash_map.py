"""`java.util.HashMap` and `HashSet` with the order in which Java lists them, where Kafka's assignors depend on it.

A table has a power of two of buckets and is listed bucket by bucket. In a bucket stands first what was added first;
but `computeIfAbsent` adds in front of what is there, and looks whether the table has to grow before it adds.
(Java keeps a bucket of eight and more as a tree, whose order may differ. Member and topic ids do not meet that often.)
"""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, Generic, TypeVar

from fakebroker.broker.core.java_hash import LONGEST_KEPT, java_hash

# What Kafka's assignors put into tables: member ids, topic ids, partitions or indexes, partitions with their topics.
Key = str | bytes | int | tuple[bytes, int]
K = TypeVar("K", bound=Key)
V = TypeVar("V")

_USUAL_BUCKETS = 16  # of a table that was made without saying how much it will hold


def hash_code(key: Key) -> int:
    """What `hashCode()` gives for a key, as unsigned 32 bit.

    A string is a String, 16 bytes are a Kafka Uuid, an int is an Integer that is not negative, and a pair of a topic id
    and a partition is Kafka's record TopicIdPartition.
    """
    return _hash_code(key) if isinstance(key, str) and len(key) > LONGEST_KEPT else _known_hash_code(key)


def _hash_code(key: Key) -> int:
    if isinstance(key, int):
        return key
    if isinstance(key, str):
        return java_hash(key)
    if isinstance(key, tuple):
        return hash_code(key[0]) * 31 + key[1] & 0xFFFFFFFF
    bits = int.from_bytes(key[:8]) ^ int.from_bytes(key[8:])
    return (bits >> 32 ^ bits) & 0xFFFFFFFF


_known_hash_code = lru_cache(maxsize=1 << 16)(_hash_code)  # the same members and topics come with every assignment


def _by_bucket(keys: list[Any], mask: int) -> list[Any]:
    """Keys that are all of one kind in the order of their buckets; for each partition no function is called."""
    first = keys[0]
    if isinstance(first, int):
        if max(keys) <= mask <= 0xFFFF:  # each has its own
            return sorted(keys)
        hashes = keys
    elif isinstance(first, tuple):
        topics = list(dict.fromkeys([topic_id for topic_id, _ in keys]))
        hash_codes = dict(zip(topics, map(_known_hash_code, topics), strict=True))
        hashes = [hash_codes[topic_id] * 31 + partition & 0xFFFFFFFF for topic_id, partition in keys]
    elif isinstance(first, str) and max(map(len, keys)) > LONGEST_KEPT:
        hashes = [hash_code(key) for key in keys]
    else:
        hashes = list(map(_known_hash_code, keys))
    buckets = [(h ^ h >> 16) & mask for h in hashes]
    return [keys[index] for index in sorted(range(len(keys)), key=buckets.__getitem__)]


class JavaHashMap(dict[K, V], Generic[K, V]):
    """A dict that also knows in which order a `java.util.HashMap` with the same history would list its keys.

    It is a dict in order of adding, which is what decides inside a bucket; `keys_in_order` is Java's order. Only `[]`,
    `compute_if_absent`, `put_all` and `del` may change it. As in Java, the number of buckets never goes down.
    """

    __slots__ = ("_buckets", "_in_front")

    def __init__(self, expected: int | None = None) -> None:
        """An empty table; `expected` is the capacity given to Java's constructor, None if none was given."""
        super().__init__()
        self._buckets = _USUAL_BUCKETS if expected is None else power_of_two_from(expected)
        self._in_front: dict[K, None] = {}  # the keys added in front: the last one comes first

    def __setitem__(self, key: K, value: V) -> None:
        dict.__setitem__(self, key, value)
        if len(self) > self._buckets * 3 // 4:
            self._buckets *= 2

    def __delitem__(self, key: K) -> None:
        dict.__delitem__(self, key)
        if self._in_front:
            self._in_front.pop(key, None)

    def compute_if_absent(self, key: K, make: Callable[[], V]) -> V:
        """The value of a key, which is added in front of the others of its bucket if it is not there.

        Before that the table grows when it should have grown already, also for a key that is there.
        """
        if len(self) > self._buckets * 3 // 4:
            self._buckets *= 2
        if key not in self:
            dict.__setitem__(self, key, make())
            self._in_front[key] = None
        return self[key]

    def put_all(self, entries: Mapping[K, V]) -> None:
        """Set keys one after the other."""
        self.update(entries)
        while len(self) > self._buckets * 3 // 4:
            self._buckets *= 2

    def keys_in_order(self, only: Callable[[K], bool] | None = None) -> list[K]:
        """The keys as Java lists them, all or `only` some: a list of its own, so that the table may be changed."""
        in_front = self._in_front
        keys = list(self)
        if in_front:
            keys = [*reversed(in_front), *[key for key in keys if key not in in_front]]
        if only is not None:
            keys = [key for key in keys if only(key)]
        return keys if len(keys) < 2 else _by_bucket(keys, self._buckets - 1)


class JavaHashSet(JavaHashMap[K, None]):
    """The same for `java.util.HashSet`, which is a HashMap without values."""

    __slots__ = ()

    @classmethod
    def copy_of(cls, keys: Iterable[K], size: int | None = None) -> "JavaHashSet[K]":
        """What `new HashSet(collection)` makes of keys in this order: room for all of them from the start.

        `size` is what the collection says of its size, if that is not the number of keys.
        """
        keys = list(keys)
        copy = cls(expected=max(capacity_for(len(keys) if size is None else size), _USUAL_BUCKETS))
        copy.add_all(keys)
        return copy

    def add(self, key: K) -> None:
        """Add a key; one that is there keeps its place."""
        self[key] = None

    def add_all(self, keys: Iterable[K]) -> None:
        """Add keys one after the other."""
        self.put_all(dict.fromkeys(keys))


def capacity_for(count: int) -> int:
    """The capacity that Java and Kafka ask for so that `count` entries fit: count / 0.75 + 1, cut to an int."""
    return count * 4 // 3 + 1


def power_of_two_from(capacity: int) -> int:
    """The smallest power of two that is not below `capacity`, at least 1."""
    return 1 << max(capacity - 1, 0).bit_length()
