"""Which assignor a group uses, and what holds for all of them in every history."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.groups.consumer.assignors import ASSIGNORS, assignor_after, preferred_assignor
from fakebroker.broker.core.groups.modern.assignments import Assignment, AssignorGroup
from fakebroker.broker.core.groups.modern.member_table import MemberTable
from fakebroker.protocol.pace import AT_ONCE, finished
from tests.support.assignor_histories import AssignorHistory

seeds = st.integers(0, 10**9)
STEPS = 12


def counts_of(*named: str) -> MemberTable[int]:
    """How many members name each assignor, when they came in this order."""
    counts: MemberTable[int] = MemberTable()
    for name in named:
        counts[name] = counts.get(name, 0) + 1
    return counts


@pytest.mark.rules("CGA-1", "CGD-6")
@pytest.mark.parametrize(
    ("named", "used"),
    [
        ([], "uniform"),
        (["range"], "range"),
        (["range", "uniform", "range"], "range"),
        (["range", "uniform"], "uniform"),
    ],
)
def test_members_choose_the_assignor(named: list[str], used: str) -> None:
    """Most votes win, and in a tie it is uniform."""
    assert preferred_assignor(counts_of(*named), ["uniform", "range"]) == used


@pytest.mark.rules("CGA-1")
@pytest.mark.parametrize(
    ("named", "before", "after", "used"),
    [
        (["uniform"], None, "range", "range"),  # the name that is new in the count comes first among equals
        (["range"], None, "uniform", "uniform"),
        (["uniform", "uniform"], "uniform", "range", "range"),
        (["range", "uniform"], None, None, "uniform"),
        (["range", "uniform"], "uniform", "range", "range"),
        (["range"], "range", None, "uniform"),
        ([], None, "range", "range"),
    ],
)
def test_a_member_changes_the_vote(named: list[str], before: str | None, after: str | None, used: str) -> None:
    """The vote of the member whose heartbeat it is counts as it will be."""
    assert assignor_after(counts_of(*named), before, after, ["uniform", "range"]) == used


@pytest.mark.rules("CGA-1")
def test_the_first_configured_assignor_is_the_default() -> None:
    """It is used when no member names one."""
    assert preferred_assignor(counts_of(), ["range", "uniform"]) == "range"
    assert assignor_after(counts_of(), None, None, ["range", "uniform"]) == "range"


def computed(assignor: str, group: AssignorGroup) -> dict[str, Assignment]:
    """What an assignor gives, in one go."""
    return finished(ASSIGNORS[assignor](group, AT_ONCE))


def owners_of(target: dict[str, Assignment]) -> dict[tuple[bytes, int], str]:
    """Who has each partition; fails if two have the same."""
    owners: dict[tuple[bytes, int], str] = {}
    for member_id, assignment in target.items():
        for topic_id, partitions in assignment.items():
            for partition in partitions:
                assert owners.setdefault((topic_id, partition), member_id) == member_id
            assert len(set(partitions)) == len(partitions) > 0
    return owners


def wanted_of(group: AssignorGroup) -> set[tuple[bytes, int]]:
    """The partitions of all topics that somebody wants."""
    wanted = {topic_id for member in group.members.values() for topic_id in member.topic_ids}
    return {(topic_id, p) for topic_id in wanted for p in range(group.partition_counts[topic_id])}


@pytest.mark.rules("CGA-23")
@pytest.mark.parametrize("assignor", ASSIGNORS)
@given(seed=seeds)
def test_every_partition_has_one_owner_that_wants_it(assignor: str, seed: int) -> None:
    """None is left over, none is given twice, and nobody gets what it did not subscribe to."""
    history = AssignorHistory(Random(seed))
    for _ in range(STEPS):
        group = history.step()
        target = computed(assignor, group)

        owners = owners_of(target)
        assert owners.keys() == wanted_of(group)
        assert all(topic_id in group.members[member_id].topic_ids for (topic_id, _), member_id in owners.items())
        assert list(target) == list(group.members)
        history.adopt(target)


@pytest.mark.rules("CGA-11")
@given(seed=seeds)
def test_uniform_is_even(seed: int) -> None:
    """Members that want the same have the same number of partitions, or one more."""
    history = AssignorHistory(Random(seed))
    for _ in range(STEPS):
        group = history.step()
        target = computed("uniform", group)
        if group.is_homogeneous:
            sizes = [sum(map(len, assignment.values())) for assignment in target.values()]
            assert max(sizes) - min(sizes) <= 1
        history.adopt(target)


@pytest.mark.rules("CGA-12", "CGA-20")
@pytest.mark.parametrize("assignor", ["uniform"])
@given(seed=seeds)
def test_nothing_moves_without_a_reason(assignor: str, seed: int) -> None:
    """Asked once more about a target of its own, with nothing changed, uniform changes nothing in an even group."""
    history = AssignorHistory(Random(seed))
    for _ in range(STEPS):
        group = history.step()
        target = computed(assignor, group)
        if group.is_homogeneous:
            again = group._replace(
                members={m: member._replace(previous=target[m]) for m, member in group.members.items()}
            )
            assert owners_of(computed(assignor, again)) == owners_of(target)
        history.adopt(target)
