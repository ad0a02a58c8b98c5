"""The order of Java's and Scala's hash maps, where Kafka's answers depend on it (FC-2, JG-27)."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from operator import mul
from struct import unpack

_POWERS_COUNT = 256
_POWERS = tuple(pow(31, power, 1 << 32) for power in reversed(range(_POWERS_COUNT)))  # the last one is 1


def java_hash(text: str) -> int:
    """String.hashCode as unsigned 32 bit: h = 31 * h + unit over the UTF-16 code units."""
    units: Sequence[int]
    if text.isascii():
        units = text.encode()
    else:
        encoded = text.encode("utf-16-be", "surrogatepass")
        units = unpack(f">{len(encoded) // 2}H", encoded)
    count = len(units)
    first = count if count <= _POWERS_COUNT else count % _POWERS_COUNT
    h: int = sum(map(mul, units, _POWERS[_POWERS_COUNT - first :]))  # ends with the shorter of both
    for start in range(first, count, _POWERS_COUNT):
        h = (h * _POWERS[0] * 31 + sum(map(mul, units[start : start + _POWERS_COUNT], _POWERS))) & 0xFFFFFFFF
    return h & 0xFFFFFFFF


LONGEST_KEPT = 256  # characters of a name that a cache remembers: a client may send names of 32 KB, each once


def partition_of(key: str, partitions: int) -> int:
    """The partition of an internal topic that a group or transactional id belongs to (FC-2)."""
    return _known_partition(key, partitions) if len(key) <= LONGEST_KEPT else _partition(key, partitions)


def _partition(key: str, partitions: int) -> int:
    h = java_hash(key)
    if h == 1 << 31:  # Math.abs(Integer.MIN_VALUE) is 0 in Kafka's own version
        return 0
    return (h if h < 1 << 31 else (1 << 32) - h) % partitions


_known_partition = lru_cache(maxsize=1 << 16)(_partition)  # nearly every request of a group asks for the same few


def hash_map_order(names: Iterable[str]) -> list[str]:
    """The order in which a java.util.HashMap would list these keys, added one after the other."""
    names = list(names)
    buckets = 16
    while len(names) > buckets * 3 // 4:
        buckets *= 2
    return sorted(names, key=lambda name: _spread(java_hash(name)) & buckets - 1)


def hash_trie_order(names: Iterable[str], depth: int = 0) -> list[str]:
    """The order in which Scala 2.13's immutable HashMap lists these keys.

    A node of the trie sorts by five bits of the hash: first the keys that have theirs for themselves, then the
    nodes of those that share them.
    """
    slots: dict[int, list[str]] = {}
    for name in names:
        slots.setdefault(_improve(java_hash(name)) >> 5 * depth & 31, []).append(name)
    in_order = [slots[slot] for slot in sorted(slots)]
    alone = [shared[0] for shared in in_order if len(shared) == 1]
    deepest = depth == _TRIE_DEPTH
    deeper = [shared if deepest else hash_trie_order(shared, depth + 1) for shared in in_order if len(shared) > 1]
    return [*alone, *(name for shared in deeper for name in shared)]


_TRIE_DEPTH = 6  # seven times five bits


def _improve(h: int) -> int:
    """How Scala spreads the bits of a hash."""
    h = h + ~(h << 9) & 0xFFFFFFFF
    h ^= h >> 14
    h = h + (h << 4) & 0xFFFFFFFF
    return h ^ h >> 10


def _spread(h: int) -> int:
    return h ^ h >> 16
