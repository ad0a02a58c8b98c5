"""Tasks by role: what is in both, what is within, and the form of messages and records."""

from fakebroker.broker.core.groups.streams.tasks import NO_TASKS, Task, Tasks, partitions_by_subtopology, tasks_of
from tests.support.streams_groups import tasks


def test_tasks_are_brought_into_order() -> None:
    """However tasks are given, equal ones are equal: each role in order, without duplicates."""
    given = tasks_of([Task("1", 0), Task("0", 2), Task("0", 2), Task("0", 1)])

    assert given == Tasks(active=(Task("0", 1), Task("0", 2), Task("1", 0)))


def test_roles_are_kept_apart() -> None:
    """A task in one role has nothing to do with the same task in another."""
    assert tasks(0, 1).have_any_of(tasks(1, 2))
    assert not tasks(0, 1).have_any_of(tasks(standby=[0, 1]))
    assert tasks(0).are_within(tasks(0, 1))
    assert not tasks(standby=[0]).are_within(tasks(0, 1))
    assert NO_TASKS.are_within(NO_TASKS)
    assert not NO_TASKS
    assert tasks(standby=[0])


def test_the_form_of_messages() -> None:
    """Messages and records list the partitions of each subtopology, both in order."""
    assert partitions_by_subtopology([Task("0", 1), Task("0", 2), Task("1", 0)]) == {"0": [1, 2], "1": [0]}
