"""Java's string hash and hash map order (FC-2, FC-3, JG-27)."""

import pytest

from fakebroker.broker.core import java_hash as hashes
from fakebroker.broker.core import java_hash_map
from fakebroker.broker.core.java_hash import LONGEST_KEPT, hash_map_order, hash_trie_order, java_hash, partition_of


@pytest.mark.rules("FC-2", "FC-3")
@pytest.mark.parametrize(
    ("key", "hashed", "partition"),
    [
        ("", 0, 0),
        ("a", 97, 47),
        ("group", 98629247, 47),
        ("my-group", -1906497762, 12),
        ("test-group", 627841412, 12),
        ("console-consumer-12345", 158455506, 6),
        ("polygenelubricants", -2147483648, 0),
        ("ünïcode-grüppe", 1800023767, 17),
        ("\U0001f600", 1772899, 49),
    ],
)
def test_vectors(key: str, hashed: int, partition: int) -> None:
    """Hash and partition are those Kafka computes; a surrogate pair counts twice, the smallest int is partition 0."""
    assert java_hash(key) == hashed & 0xFFFFFFFF
    assert partition_of(key, 50) == partition


@pytest.mark.rules("JG-27")
def test_hash_map_order() -> None:
    """The order of the five assignors of JG-27, however they were added."""
    order = ["other", "sticky", "range", "roundrobin", "cooperative-sticky"]

    assert hash_map_order(order) == hash_map_order(reversed(order)) == order


def test_a_large_map_has_more_buckets() -> None:
    """From 13 keys on there are 32 buckets: q (113) then comes after b (98), where 16 buckets put it before."""
    few = ["b", "q"]
    many = [*few, *"cdefghijklm"]

    assert hash_map_order(few) == ["q", "b"]
    assert [name for name in hash_map_order(many) if name in few] == ["b", "q"]


@pytest.mark.rules("JG-27")
@pytest.mark.parametrize(
    ("names", "first"),
    [
        ("range sticky", "range"),
        ("range roundrobin", "roundrobin"),
        ("range cooperative-sticky", "cooperative-sticky"),
        ("roundrobin cooperative-sticky", "cooperative-sticky"),
        ("sticky other", "sticky"),
        ("range sticky other", "other"),
        ("b q", "q"),
        ("a b q p", "a"),
        ("uniform custom zz range", "custom"),
        ("zz q other sticky range", "q"),
    ],
)
def test_hash_trie_order(names: str, first: str) -> None:
    """Among equals Kafka 3.9.1 chose these (asked of it), whatever the order of joining."""
    assert hash_trie_order(names.split())[0] == hash_trie_order(reversed(names.split()))[0] == first


@pytest.mark.parametrize("text", ["a" * 255, "a" * 256, "b" * 257, "d" * 1000, "ä" * 300, "x\U0001f600" * 200])
def test_long_texts(text: str) -> None:
    """They are as h = 31 * h + unit says, over the whole text."""
    units = memoryview(text.encode("utf-16-be")).tolist()
    hashed = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        hashed = (31 * hashed + (high << 8 | low)) & 0xFFFFFFFF
    assert java_hash(text) == hashed


def test_a_long_name_is_not_remembered() -> None:
    """A client may ask for very many, each of 32 KB, which nothing else keeps."""
    for ask, kept in (
        (lambda name: partition_of(name, 50), hashes._known_partition),
        (java_hash_map.hash_code, java_hash_map._known_hash_code),
    ):
        ask("m" * LONGEST_KEPT)
        before = kept.cache_info()
        ask("n" * (LONGEST_KEPT + 1))
        assert kept.cache_info() == before
