"""The assignor "range" (CGA-2 to CGA-4)."""

import pytest

from fakebroker.broker.core.groups.consumer.assignors import range_assignor
from tests.support.assigning import assigned


@pytest.mark.rules("CGA-2", "CGA-3")
def test_consecutive_partitions_in_order_of_members() -> None:
    """The first members get one more, topic by topic; what they had does not matter."""
    members = {"m2": ("ab", "a0-6"), "m1": ("ab", ""), "m3": ("ab", "")}

    assert assigned(range_assignor.assign, {"a": 7, "b": 2}, members) == {
        "m2": "a3,4 b1",
        "m1": "a0,1,2 b0",
        "m3": "a5,6",
    }


@pytest.mark.rules("CGA-2")
def test_static_members_come_first() -> None:
    """They are in order of their instance ids."""
    members = {"m1": ("a", ""), "m2": ("a", ""), "m3": ("a", "")}

    assert assigned(range_assignor.assign, {"a": 5}, members, static={"m2": "y", "m3": "x"}) == {
        "m1": "a4",
        "m2": "a2,3",
        "m3": "a0,1",
    }


@pytest.mark.rules("CGA-4", "CGA-24")
def test_only_subscribers_of_a_topic_count() -> None:
    """Who wants nothing gets nothing."""
    members = {"m1": ("a", ""), "m2": ("ab", ""), "m3": ("", "b0")}

    assert assigned(range_assignor.assign, {"a": 4, "b": 3}, members) == {"m1": "a0,1", "m2": "a2,3 b0,1,2", "m3": ""}
