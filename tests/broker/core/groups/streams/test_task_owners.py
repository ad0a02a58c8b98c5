"""Which processes have a task: from its assignment until it is given up."""

from itertools import pairwise

import pytest

from fakebroker.broker.core.groups.streams.member import CurrentAssignment, MemberMetadata, StreamsMember
from fakebroker.broker.core.groups.streams.task_owners import TaskOwners
from fakebroker.broker.core.groups.streams.tasks import NO_TASKS, Task, Tasks
from tests.support.streams_groups import tasks

TASK = Task("0", 0)


def member(assigned: Tasks = NO_TASKS, pending: Tasks = NO_TASKS, process: str = "p") -> StreamsMember:
    """A member of a process with these tasks."""
    return StreamsMember("m", MemberMetadata(process_id=process), CurrentAssignment(assigned=assigned, pending=pending))


@pytest.mark.rules("STR-3")
def test_a_task_is_taken_until_it_is_given_up() -> None:
    """Assigned or to be given up, it is taken for everybody; then free."""
    owners = TaskOwners()
    steps = [None, member(tasks(0)), member(pending=tasks(0)), member(), None]
    taken = []
    for before, after in pairwise(steps):
        owners.replace(before, after)
        taken.append(owners.is_active_taken(TASK, "q"))

    assert taken == [True, True, False, False]


@pytest.mark.rules("STR-3")
def test_copies_matter_to_their_own_process_only() -> None:
    """A standby keeps members of its process from the task, in any role, and nobody else."""
    owners = TaskOwners()
    owners.replace(None, member(tasks(standby=[0])))

    assert owners.is_active_taken(TASK, "p")
    assert owners.is_copy_taken(TASK, "p")
    assert not owners.is_active_taken(TASK, "q")
    assert not owners.is_copy_taken(TASK, "q")


def test_a_member_that_changes_its_process_takes_its_tasks_along() -> None:
    """What it has is had by the new process then, and not by the old one."""
    owners = TaskOwners()
    owners.replace(None, member(tasks(0)))
    owners.replace(member(tasks(0)), member(tasks(0), process="q"))

    assert owners.is_copy_taken(TASK, "q")
    assert not owners.is_copy_taken(TASK, "p")
