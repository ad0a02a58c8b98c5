"""The assignor "uniform" in groups whose members want the same topics (CGA-10 to CGA-18)."""

import pytest

from fakebroker.broker.core.groups.consumer.assignors import uniform_assignor
from tests.support.assigning import assigned


def uniform(topics: dict[str, int], members: dict[str, tuple[str, str]]) -> dict[str, str]:
    return assigned(uniform_assignor.assign, topics, members)


@pytest.mark.rules("CGA-11", "CGA-15")
def test_the_first_member_gets_everything() -> None:
    """All partitions are unassigned, and it has the whole quota."""
    assert uniform({"a": 3, "b": 2}, {"m": ("ab", "")}) == {"m": "a0,1,2 b0,1"}


@pytest.mark.rules("CGA-12", "CGA-16")
def test_owners_keep_their_lowest_partitions() -> None:
    """What is above the quota goes to the newcomer."""
    assert uniform({"a": 7}, {"old": ("a", "a0-6"), "new": ("a", "")}) == {"old": "a0,1,2,3", "new": "a4,5,6"}


@pytest.mark.rules("CGA-13")
def test_a_member_with_room_passes_its_extra_partition_on() -> None:
    """The newcomer is walked first, and yet the extra partition stays with a member that has it."""
    assert uniform({"a": 5}, {"new": ("a", ""), "old": ("a", "a0-4")}) == {"new": "a3,4", "old": "a0,1,2"}
    assert uniform({"a": 5}, {"m1": ("a", ""), "m2": ("a", "")}) == {"m1": "a0,1", "m2": "a2,3,4"}


@pytest.mark.rules("CGA-14", "CGA-15")
def test_unassigned_partitions_come_before_revoked_ones() -> None:
    """Partitions without an owner go out first, in order, then those that were given up."""
    members = {"m1": ("a", "a0-5"), "m2": ("a", ""), "m3": ("a", "")}

    assert uniform({"a": 9}, members) == {"m1": "a0,1,2", "m2": "a6,7,8", "m3": "a3,4,5"}


@pytest.mark.rules("CGA-12")
def test_topics_nobody_wants_any_more_go() -> None:
    """Without subscriptions everybody has nothing."""
    assert uniform({"a": 2}, {"m": ("a", "a0,1 b0-3")}) == {"m": "a0,1"}
    assert uniform({"a": 2}, {"m": ("", "a0,1")}) == {"m": ""}


@pytest.mark.rules("CGA-18")
def test_partitions_are_kept_in_hash_order() -> None:
    """Of 12 to 22 the first six in a table of 16 buckets are 16 to 21."""
    members = {"m1": ("a", "a12-22"), "m2": ("a", "a0-11"), "m3": ("a", ""), "m4": ("a", "")}

    assert uniform({"a": 23}, members) == {
        "m1": "a16,17,18,19,20,21",
        "m2": "a0,1,2,3,4,5",
        "m3": "a22,12,13,14,15",
        "m4": "a6,7,8,9,10,11",
    }
