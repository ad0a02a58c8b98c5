"""The order of `java.util.HashMap` and `HashSet`; expected orders were printed by Java 17."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.java_hash import hash_map_order
from fakebroker.broker.core.java_hash_map import JavaHashMap, JavaHashSet, capacity_for, hash_code, power_of_two_from

# In tables of 2, 4, 8 and 16 buckets: A in 1, 1, 1, 1 and B in 1, 3, 7, 15.
A = bytes.fromhex("ac4c09c28206e7e35594aa6b342f5d0a")
B = bytes.fromhex("78c3a967b36711eb3906a7c8603d71d4")


def table(expected: int | None, *keys: int) -> JavaHashMap[int, str]:
    made: JavaHashMap[int, str] = JavaHashMap(expected)
    for key in keys:
        made[key] = "x"
    return made


@pytest.mark.rules("CGA-19")
def test_hash_codes() -> None:
    """Strings, partitions, topic ids and topic partitions hash as String, Integer, Uuid and the record of the two."""
    assert hash_code("polygenelubricants") == 1 << 31
    assert hash_code(41) == 41
    assert hash_code(bytes([1, 0, 0, 0, 0, 0, 0, 2, 4, 0, 0, 0, 0, 0, 0, 8])) == (5 << 24) ^ 10
    assert hash_code((A, 3)) == (hash_code(A) * 31 + 3) % (1 << 32)


@pytest.mark.rules("CGA-18")
def test_a_set_is_copied_into_a_table_for_all_its_elements() -> None:
    """Eleven partitions from 12 on fit into 16 buckets, in which 16 comes first; thirteen need 32."""
    assert JavaHashSet.copy_of(range(12, 23)).keys_in_order() == [16, 17, 18, 19, 20, 21, 22, 12, 13, 14, 15]
    assert JavaHashSet.copy_of(range(12, 25)).keys_in_order() == list(range(12, 25))


def test_a_table_grows_behind_the_element_that_is_too_many() -> None:
    """Sixteen buckets hold twelve keys; elements of one bucket keep the order in which they came."""
    assert table(None, 17, 1, 16).keys_in_order() == [16, 17, 1]
    assert table(None, *range(5, 17)).keys_in_order() == [16, *range(5, 16)]
    assert table(None, *range(5, 18)).keys_in_order() == list(range(5, 18))


def test_a_table_has_the_capacity_it_was_made_with() -> None:
    """One made for two entries has 2 buckets, and 4 with the second entry."""
    assert table(0, 1).keys_in_order() == [1]
    assert table(2, 4, 1).keys_in_order() == [4, 1]
    assert table(2, 5, 4, 1).keys_in_order() == [4, 5, 1]
    assert [power_of_two_from(n) for n in (0, 1, 2, 3, 16, 17)] == [1, 1, 2, 4, 16, 32]
    assert [capacity_for(n) for n in (0, 1, 3, 12)] == [1, 2, 5, 17]


@pytest.mark.rules("CGA-19")
@pytest.mark.parametrize(("capacity", "order"), [(0, [B, A]), (1, [B, A]), (16, [A, B])])
def test_compute_if_absent_adds_in_front(capacity: int, order: list[bytes]) -> None:
    """In a bucket of its own what comes later stands before what was there."""
    made: JavaHashMap[bytes, int] = JavaHashMap(capacity)
    made.compute_if_absent(A, lambda: 1)
    made.compute_if_absent(B, lambda: 2)

    assert made.keys_in_order() == order
    assert made == {A: 1, B: 2}


def test_compute_if_absent_grows_before_it_looks() -> None:
    """A table that is too full by one grows with the next call, though the key is there."""
    made: JavaHashMap[bytes, int] = JavaHashMap(0)
    for key in (A, A, B):
        made.compute_if_absent(key, lambda: 1)
    assert made.keys_in_order() == [B, A]

    made.compute_if_absent(B, lambda: 1)

    assert made.keys_in_order() == [A, B]


def test_what_was_removed_comes_back_at_the_end() -> None:
    """A key that was in front loses its place with its removal."""
    made: JavaHashMap[int, str] = JavaHashMap()
    made[1] = "x"
    made.compute_if_absent(17, lambda: "x")
    assert made.keys_in_order() == [17, 1]

    del made[17]
    made[17] = "x"

    assert made.keys_in_order() == [1, 17]


@given(st.lists(st.text(max_size=6), unique=True))
def test_a_map_of_strings_has_the_order_of_the_older_function(names: list[str]) -> None:
    """Without removals both say the same."""
    made: JavaHashMap[str, int] = JavaHashMap()
    for name in names:
        made[name] = 1

    assert made.keys_in_order() == hash_map_order(names)
