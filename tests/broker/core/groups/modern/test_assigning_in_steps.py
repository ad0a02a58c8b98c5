"""Assignors compute targets in steps: these change nothing of what comes out, and none of them takes long."""

from collections.abc import Callable, Generator, Iterator, Mapping
from functools import partial
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.groups.consumer.assignors import ASSIGNORS
from fakebroker.broker.core.groups.modern.assignments import AssignorGroup, AssignorMember
from fakebroker.broker.core.groups.share import simple_assignor
from fakebroker.broker.core.groups.streams import sticky_assignor
from fakebroker.broker.core.groups.streams.sticky_assignor import AssignorSubtopology
from fakebroker.broker.core.groups.streams.tasks import Tasks
from fakebroker.protocol.pace import AT_ONCE, Pace, finished
from tests.support.assignor_histories import AssignorHistory
from tests.support.task_histories import TaskHistory
from tests.support.work_counter import calls_of

Steps = Generator[None, None, Mapping[str, object]]

OURS = {**ASSIGNORS, "simple": simple_assignor.assign}
UNITS = 10  # of a step, when work is counted


@pytest.mark.parametrize("assignor", OURS)
@given(seed=st.integers(0, 10**9), units=st.integers(0, 40))
def test_steps_change_no_target(assignor: str, seed: int, units: int) -> None:
    """However short they are; the order is the same, too."""
    history = AssignorHistory(Random(seed), shares=assignor == "simple")
    for _ in range(8):
        group = history.step()
        target = finished(OURS[assignor](group, AT_ONCE))
        in_steps = finished(OURS[assignor](group, Pace(units)))
        assert [(member_id, list(of.items())) for member_id, of in in_steps.items()] == [
            (member_id, list(of.items())) for member_id, of in target.items()
        ]
        history.adopt(target)


@given(seed=st.integers(0, 10**9), units=st.integers(0, 40))
def test_steps_change_no_target_of_tasks(seed: int, units: int) -> None:
    """The same of streams groups."""
    history = TaskHistory(Random(seed))
    for _ in range(8):
        members = history.step()
        asked = members, history.subtopologies, history.standbys
        target = finished(sticky_assignor.assign(*asked, AT_ONCE))
        assert list(finished(sticky_assignor.assign(*asked, Pace(units))).items()) == list(target.items())
        history.adopt(target)


def ids(count: int) -> tuple[bytes, ...]:
    random = Random(count)
    return tuple(random.randbytes(16) for _ in range(count))


def group_of(topics: Mapping[bytes, int], *subscriptions: tuple[bytes, ...]) -> AssignorGroup:
    members = {f"member-{number}": AssignorMember(topic_ids) for number, topic_ids in enumerate(subscriptions)}
    return AssignorGroup(members, topics, len(set(subscriptions)) == 1)


def one_topic(count: int) -> AssignorGroup:
    """Of many partitions."""
    return group_of(dict.fromkeys(ids(1), count), *[ids(1)] * 3)


def many_topics(count: int) -> AssignorGroup:
    return group_of(dict.fromkeys(ids(count), 2), *[ids(count)] * 3)


def many_members(count: int) -> AssignorGroup:
    return group_of(dict.fromkeys(ids(5), 50), *[ids(5)] * count)


def idle_members(count: int) -> AssignorGroup:
    """Most of them, with no topics."""
    return group_of(dict.fromkeys(ids(2), 3), ids(2), *[()] * count)


def different_topics(count: int) -> AssignorGroup:
    """Each member reads what its neighbours read, too, and one reads all."""
    topics = ids(count)
    return group_of(dict.fromkeys(topics, 3), *[topics[at : at + 3] for at in range(count - 3)], topics)


def one_topic_and_others(count: int) -> AssignorGroup:
    """Two members of a long topic, one of which is busy."""
    topics = ids(4)
    return group_of(dict(zip(topics, (count, count, 1, 1), strict=True)), topics, topics[1:], topics[1:2])


def many_members_of_two(count: int) -> AssignorGroup:
    """Half of the members read a second topic as well."""
    topics = ids(2)
    return group_of(dict.fromkeys(topics, 200), *[topics[: 1 + number % 2] for number in range(count)])


SHAPES: list[Callable[[int], AssignorGroup]] = [
    one_topic,
    many_topics,
    many_members,
    idle_members,
    different_topics,
    one_topic_and_others,
    many_members_of_two,
]


def situations(assignor: str, group: AssignorGroup) -> Iterator[AssignorGroup]:
    """A new group; the same again; without its second member; with one more that reads what the first reads."""
    for change in ("", "left", "joined", ""):
        yield group
        target = finished(OURS[assignor](group, AT_ONCE))
        members = {each: member._replace(previous=target[each]) for each, member in group.members.items()}
        if change == "left":
            del members[list(members)[1]]
        elif change == "joined":
            members["joined"] = AssignorMember(next(iter(members.values())).topic_ids)
        group = group._replace(members=members)


def calls_of_longest_step(begin: Callable[[Pace], Steps]) -> int:
    """Hash codes are known already, as they are mostly."""
    finished(begin(AT_ONCE))
    steps, longest, is_over = begin(Pace(UNITS)), 0, list[bool]()
    while not is_over:
        longest = max(longest, calls_of(lambda: is_over.append(True) if next(steps, True) else None))
    return longest


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("assignor", OURS)
def test_the_longest_step_does_not_grow(assignor: str, shape: Callable[[int], AssignorGroup]) -> None:
    """In a group four times as large it is as long."""
    few, many = (
        [calls_of_longest_step(partial(OURS[assignor], group)) for group in situations(assignor, shape(count))]
        for count in (200, 800)
    )
    for short, long in zip(few, many, strict=True):
        assert long < 1.3 * short + 200, (few, many)


def tasks_of_one_member(count: int) -> tuple[list[str], list[AssignorSubtopology]]:
    return ["p", "q"], [AssignorSubtopology("0", count, is_stateful=True)]


def many_subtopologies(count: int) -> tuple[list[str], list[AssignorSubtopology]]:
    return ["p", "q", "p"], [AssignorSubtopology(f"{number}", 2, number % 2 == 0) for number in range(count)]


def members_of_one_process(count: int) -> tuple[list[str], list[AssignorSubtopology]]:
    return [*["p"] * count, "q"], [AssignorSubtopology("0", 100, is_stateful=True)]


def many_processes(count: int) -> tuple[list[str], list[AssignorSubtopology]]:
    return [f"p{number}" for number in range(count)], [AssignorSubtopology("0", 100, is_stateful=True)]


@pytest.mark.parametrize("shape", [tasks_of_one_member, many_subtopologies, members_of_one_process, many_processes])
def test_the_longest_step_for_tasks_does_not_grow(
    shape: Callable[[int], tuple[list[str], list[AssignorSubtopology]]],
) -> None:
    """The same of streams groups: a new one, again, and without its first member."""
    longest = dict[int, list[int]]()
    for count in (200, 800):
        processes, subtopologies = shape(count)
        members = {f"m{number}": sticky_assignor.AssignorMember(each) for number, each in enumerate(processes)}
        longest[count] = []
        for is_gone in (False, True, False):
            begin = partial(sticky_assignor.assign, members, subtopologies, 1)
            longest[count].append(calls_of_longest_step(begin))
            target: Mapping[str, Tasks] = finished(begin(AT_ONCE))
            members = {each: member._replace(previous=target[each]) for each, member in members.items()}
            if is_gone:
                del members["m0"]
    for short, long in zip(*longest.values(), strict=True):
        assert long < 1.3 * short + 200, longest
