"""The assignor "uniform" in groups whose members want different topics (CGA-20 to CGA-24)."""

import pytest

from fakebroker.broker.core.groups.consumer.assignors import uniform_assignor
from tests.support.assigning import assigned


def uniform(topics: dict[str, int], members: dict[str, tuple[str, str]]) -> dict[str, str]:
    return assigned(uniform_assignor.assign, topics, members)


@pytest.mark.rules("CGA-20", "CGA-21")
def test_the_topic_with_most_partitions_per_subscriber_comes_first() -> None:
    """Topic b goes to its only subscriber, and then of a the other one gets more."""
    members = {"m1": ("a", ""), "m2": ("ab", "")}

    assert uniform({"a": 6, "b": 4}, members) == {"m1": "a0,1,2,3,4", "m2": "b0,1,2,3 a5"}


@pytest.mark.rules("CGA-21")
def test_rounds_begin_with_the_least_loaded() -> None:
    """Of b everybody gets one, then the first a second; of a the less loaded one gets two, and gives its b to m3."""
    members = {"m1": ("ab", ""), "m2": ("ab", ""), "m3": ("b", "")}

    assert uniform({"a": 2, "b": 4}, members) == {"m1": "b0,3", "m2": "a0,1", "m3": "b1,2"}


@pytest.mark.rules("CGA-22")
def test_the_most_loaded_gives_its_highest_partitions() -> None:
    """A newcomer takes over until both differ by one at most."""
    assert uniform({"a": 7, "b": 1}, {"old": ("ab", "a0-6 b0"), "new": ("a", "")}) == {
        "old": "a0,1,2 b0",
        "new": "a3,4,5,6",
    }


@pytest.mark.rules("CGA-22")
def test_members_without_a_partition_of_the_topic_cannot_give() -> None:
    """The most loaded member has nothing of topic a; the next one gives instead."""
    members = {"big": ("ab", "b0-8"), "middle": ("a", "a0-5"), "new": ("a", "")}

    assert uniform({"a": 6, "b": 9}, members) == {
        "big": "b0,1,2,3,4,5,6,7,8",
        "middle": "a0,1,2",
        "new": "a4,5,3",  # in a table of 4
    }


@pytest.mark.rules("CGA-20", "CGA-24")
def test_who_wants_nothing_has_nothing() -> None:
    """Its partitions go to those who want them."""
    assert uniform({"a": 3}, {"m1": ("", "a0-2"), "m2": ("a", "")}) == {"m1": "", "m2": "a0,1,2"}
