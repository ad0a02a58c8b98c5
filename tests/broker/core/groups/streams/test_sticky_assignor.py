"""The assignor `sticky`: tasks stay, loads are even, standbys are elsewhere.

`tests/clients/test_kafka_tasks.py` asks Kafka's own class.
"""

from collections.abc import Mapping, Sequence
from random import Random

import pytest

from fakebroker.broker.core.groups.streams.sticky_assignor import AssignorMember, AssignorSubtopology, assign
from fakebroker.broker.core.groups.streams.tasks import Task, Tasks
from fakebroker.protocol.pace import AT_ONCE, finished
from tests.support.chance import SEED
from tests.support.streams_groups import partitions, tasks
from tests.support.task_histories import TaskHistory


def assigned(
    members: Mapping[str, AssignorMember], subtopologies: Sequence[AssignorSubtopology], num_standby_replicas: int
) -> dict[str, Tasks]:
    """What the assignor gives, in one go."""
    return finished(assign(members, subtopologies, num_standby_replicas, AT_ONCE))


def members(**processes: str) -> dict[str, AssignorMember]:
    """New members, each with its process."""
    return {member_id: AssignorMember(process_id) for member_id, process_id in processes.items()}


def active(found: dict[str, Tasks]) -> dict[str, list[int]]:
    """The partitions of each member's active tasks."""
    return {member_id: partitions(of.active) for member_id, of in found.items()}


def stateless(count: int, name: str = "0") -> AssignorSubtopology:
    return AssignorSubtopology(name, count, is_stateful=False)


def stateful(count: int, name: str = "0") -> AssignorSubtopology:
    return AssignorSubtopology(name, count, is_stateful=True)


@pytest.mark.rules("STA-4")
def test_a_lone_member_has_all_and_a_second_takes_half() -> None:
    """The first keeps its lowest partitions."""
    alone = assigned(members(a="p"), [stateless(5)], 0)
    both = assigned({"a": AssignorMember("p", alone["a"]), "b": AssignorMember("q")}, [stateless(5)], 0)

    assert active(alone) == {"a": [0, 1, 2, 3, 4]}
    assert active(both) == {"a": [0, 1, 2], "b": [3, 4]}


@pytest.mark.rules("STA-1")
def test_the_quota_follows_what_is_left() -> None:
    """Seven tasks for three: a member that reaches the rounded share takes it away, the share of the others shrinks."""
    has_all = tasks(*range(7))
    found = assigned(
        {"a": AssignorMember("p", has_all), "b": AssignorMember("q"), "c": AssignorMember("r")}, [stateless(7)], 0
    )

    assert active(found) == {"a": [0, 1, 2], "b": [3, 5], "c": [4, 6]}


@pytest.mark.rules("STA-3")
def test_load_is_counted_by_process() -> None:
    """A process with two members takes twice as much, one task at a time, and its members share evenly."""
    found = assigned(members(a="p", b="p", c="q"), [stateless(6)], 0)

    assert {member_id: len(of) for member_id, of in active(found).items()} == {"a": 2, "b": 2, "c": 2}


@pytest.mark.rules("STA-2")
def test_a_task_goes_to_who_has_its_state() -> None:
    """When the member with the active task is gone, the member with the standby gets it, if it is under its quota."""
    found = assigned(
        {"a": AssignorMember("p", tasks(1, 3)), "b": AssignorMember("q", tasks(standby=[0, 2, 3]))}, [stateful(4)], 0
    )

    assert active(found) == {"a": [1, 3], "b": [0, 2]}


@pytest.mark.rules("STA-5")
def test_standbys_are_on_other_processes() -> None:
    """Each stateful task gets its standbys where it is not; what finds no process is left out."""
    two = assigned(members(a="p", b="q"), [stateful(2), stateless(2, "1")], 2)
    one = assigned(members(a="p", b="p"), [stateful(2)], 1)

    for member_id, other in (("a", "b"), ("b", "a")):
        assert two[member_id].standby == tuple(task for task in two[other].active if task.subtopology_id == "0")
    assert not one["a"].standby
    assert not one["b"].standby


@pytest.mark.rules("STA-5")
def test_standbys_stay() -> None:
    """A member that was active before keeps a copy while it has room; a standby stays with the member that has it."""
    found = assigned(
        {
            "a": AssignorMember("p", tasks(0, 1, 2)),
            "b": AssignorMember("q"),
            "c": AssignorMember("r", tasks(standby=[0])),
        },
        [stateful(3)],
        1,
    )

    assert Task("0", 0) in found["c"].standby
    assert found["a"].standby == (Task("0", 2),)


@pytest.mark.rules("STA-1", "STA-5", "STA-6")
def test_any_history_is_even_and_complete() -> None:
    """Every task is active once, at most one member's load apart; no process has a task twice; nothing warms up."""
    for seed in range(SEED, SEED + 40):
        history = TaskHistory(Random(seed))
        for _ in range(15):
            given = history.step()
            found = assigned(given, history.subtopologies, history.standbys)
            expected = [Task(each.subtopology_id, n) for each in history.subtopologies for n in range(each.tasks)]
            assert sorted(task for of in found.values() for task in of.active) == expected
            assert not any(of.warmup for of in found.values())
            by_process: dict[str, list[Task]] = {}
            for member_id, of in found.items():
                by_process.setdefault(given[member_id].process_id, []).extend((*of.active, *of.standby))
            assert all(len(of) == len(dict.fromkeys(of)) for of in by_process.values())
            history.adopt(found)
