"""The assignor "simple" of share groups (SGA)."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.groups.modern.assignments import AssignorGroup, AssignorMember
from fakebroker.broker.core.groups.share import simple_assignor
from fakebroker.protocol.pace import AT_ONCE, finished
from tests.support.assigning import assigned
from tests.support.assignor_histories import AssignorHistory


def simple(
    topics: dict[str, int], members: dict[str, tuple[str, str]], assignable: str | None = None
) -> dict[str, str]:
    return assigned(simple_assignor.assign, topics, members, assignable=assignable)


@pytest.mark.rules("SGA-1", "SGA-2")
def test_more_partitions_than_members() -> None:
    """Each partition has one member; they are given in hash order: 1, 2, 3, 4 and then 0."""
    assert simple({"a": 5}, {"m1": ("a", ""), "m2": ("a", "")}) == {"m1": "a0,1,3", "m2": "a2,4"}


@pytest.mark.rules("SGA-1", "SGA-2")
def test_more_members_than_partitions() -> None:
    """Three members share two partitions: each partition should have two, the first member has both."""
    members = {"m1": ("a", ""), "m2": ("a", ""), "m3": ("a", "")}

    assert simple({"a": 2}, members) == {"m1": "a0,1", "m2": "a1", "m3": "a0"}


@pytest.mark.rules("SGA-3")
def test_members_keep_what_they_have() -> None:
    """Who has more than it wants gives up the first of its partitions, in hash order."""
    assert simple({"a": 6}, {"old": ("a", "a0-5"), "new": ("a", "")}) == {"old": "a0,4,5", "new": "a1,2,3"}


@pytest.mark.rules("SGA-3")
def test_a_partition_with_too_many_members_loses_the_first() -> None:
    """Both had everything, and now there are enough partitions for one each."""
    assert simple({"a": 2}, {"m1": ("a", "a0"), "m2": ("a", "a0")}) == {"m1": "a1", "m2": "a0"}


class Unsearched(tuple[bytes, ...]):
    """Topic ids of a member, in which a search would take longer the more there are."""

    def __contains__(self, _topic_id: object) -> bool:
        raise AssertionError("searched")


@pytest.mark.parametrize("is_homogeneous", [True, False])
def test_topics_of_members_are_not_searched(is_homogeneous: bool) -> None:
    """The time that a target takes grows with what members read, not with its square."""
    ids = [bytes([number]) * 16 for number in range(3)]
    member = AssignorMember(Unsearched(ids), {ids[0]: (0,)})
    group = AssignorGroup({"m1": member, "m2": member}, dict.fromkeys(ids, 1), is_homogeneous)

    assert {
        topic_id for target in finished(simple_assignor.assign(group, AT_ONCE)).values() for topic_id in target
    } == set(ids)


@pytest.mark.rules("SGH-10")
def test_only_initialized_partitions_are_assigned() -> None:
    """Partition 1 is not ready yet."""
    assert simple({"a": 3}, {"m": ("a", "")}, assignable="a0,2") == {"m": "a0,2"}
    assert simple({"a": 3}, {"m": ("a", "")}, assignable="") == {"m": ""}


@pytest.mark.rules("SGA-1")
def test_topics_are_shared_out_one_by_one_when_members_want_different_ones() -> None:
    """Each topic among its own subscribers; what a member no longer wants is taken from it and its topic left empty."""
    members = {"m1": ("a", "b0"), "m2": ("ab", "")}

    assert simple({"a": 2, "b": 2}, members) == {"m1": "b a0", "m2": "a1 b0,1"}


def test_without_topics_nobody_has_anything() -> None:
    """Whatever they had."""
    assert simple({"a": 2}, {"m1": ("", "a0"), "m2": ("", "")}) == {"m1": "", "m2": ""}


@pytest.mark.rules("SGA-1", "SGA-2")
@given(st.integers(0, 10**9))
def test_everybody_has_what_it_should_from_an_empty_start(seed: int) -> None:
    """Members of one mind that had nothing have equally many, or one more, and every partition has enough members."""
    history = AssignorHistory(Random(seed), shares=True)
    for _ in range(10):
        group = history.step()
        if not group.is_homogeneous or group.assignable is None:
            continue
        fresh = group._replace(members={m: member._replace(previous={}) for m, member in group.members.items()})
        target = finished(simple_assignor.assign(fresh, AT_ONCE))
        topic_ids = next(iter(group.members.values())).topic_ids
        partitions = [(each, p) for each in topic_ids for p in sorted(group.assignable.get(each, ()))]
        held = Counter((each, p) for assignment in target.values() for each, of in assignment.items() for p in of)
        sizes = [sum(map(len, assignment.values())) for assignment in target.values()]

        assert sorted(held) == sorted(partitions)
        assert max(sizes) - min(sizes) <= 1
        assert set(held.values()) <= {-(-len(group.members) // max(len(partitions), 1))}
