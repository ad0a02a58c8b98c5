"""What an assignor gets: walking order, topics, whether all want the same; and when two assignments are the same."""

import pytest

from fakebroker.broker.core.groups.modern.assignments import (
    is_homogeneous,
    members_in_order,
    same_partitions,
    topic_ids_of,
)


@pytest.mark.rules("CGA-10")
def test_members_are_walked_in_hash_order() -> None:
    """Ids in one bucket come as they were added, the member of the heartbeat last if it is new."""
    assert members_in_order(["q", "b"], "a") == ["q", "a", "b"]
    assert members_in_order(["AaAa"], "BBBB") == ["AaAa", "BBBB"]  # the same hash
    assert members_in_order(["BBBB", "AaAa"], "BBBB") == ["BBBB", "AaAa"]


@pytest.mark.rules("CGS-3", "CGA-10")
def test_a_replaced_member_is_not_walked() -> None:
    """The one that takes its place is."""
    assert members_in_order(["old", "other"], "new", replaced="old") == members_in_order(["other"], "new")
    assert members_in_order(["old"], "old", replaced=None) == ["old"]


@pytest.mark.rules("CGA-24")
def test_topics_that_do_not_exist_are_left_out() -> None:
    """Names are looked up in hash order, those of the larger set first."""
    ids = {name: name.encode() for name in "abcx"}

    assert topic_ids_of(["c", "nothing", "a"], ids.get) == (b"a", b"c")
    assert topic_ids_of(["x"], ids.get, ["c", "x", "b"]) == (b"b", b"c", b"x")
    assert topic_ids_of(["c", "x"], ids.get, ["a"]) == (b"c", b"x", b"a")


@pytest.mark.rules("CGA-10")
@pytest.mark.parametrize(
    ("subscriptions", "same"),
    [
        ([], True),
        ([("ab", None), ("ba", None)], True),
        ([("ab", None), ("a", None)], False),
        ([("", None), ("a", None)], False),
        ([("", "x.*"), ("", "x.*")], True),
        ([("", "x.*"), ("", "y.*")], False),
        ([("", "x.*"), ("", None)], False),
        ([("a", "x.*"), ("a", "x.*")], False),
        ([("a", ""), ("a", None)], True),
    ],
)
def test_when_all_want_the_same(subscriptions: list[tuple[str, str | None]], same: bool) -> None:
    """Every name is everybody's; with patterns there is one, which everybody has, and no name."""
    assert is_homogeneous(subscriptions) == same


def test_assignments_with_the_same_partitions_are_the_same() -> None:
    """Their order does not matter; a topic without partitions does."""
    assert same_partitions({b"a": (1, 2), b"b": (0,)}, {b"b": [0], b"a": [2, 1]})
    assert not same_partitions({b"a": (1,)}, {b"a": (1, 2)})
    assert not same_partitions({b"a": (1,), b"b": ()}, {b"a": (1,)})
