"""Reconciliation, state by state: what a member has after one look at its target."""

import pytest

from fakebroker.broker.core.groups.streams.member import CurrentAssignment, MemberMetadata, StreamsMember
from fakebroker.broker.core.groups.streams.reconciliation import Goal, reconcile
from fakebroker.broker.core.groups.streams.states import MemberState
from fakebroker.broker.core.groups.streams.task_owners import TaskOwners
from fakebroker.broker.core.groups.streams.tasks import NO_TASKS, Task, Tasks
from tests.support.streams_groups import tasks

STABLE, UNREVOKED, UNRELEASED = MemberState


def has(assigned: Tasks, epoch: int = 2, pending: Tasks = NO_TASKS, state: MemberState = STABLE) -> CurrentAssignment:
    """What a member has since `epoch`."""
    stamps = dict.fromkeys((*assigned.active, *pending.active), epoch)
    return CurrentAssignment(epoch, epoch - 1, state, assigned, pending, stamps)


def owners(**members: tuple[str, CurrentAssignment]) -> TaskOwners:
    """What these members have, each with its process."""
    found = TaskOwners()
    for member_id, (process_id, current) in members.items():
        found.replace(None, StreamsMember(member_id, MemberMetadata(process_id=process_id), current))
    return found


def look(
    current: CurrentAssignment,
    target: Tasks,
    owned: Tasks | None = None,
    epoch: int = 3,
    others: TaskOwners | None = None,
) -> CurrentAssignment:
    """One look of a member of process "p"."""
    return reconcile(current, Goal(epoch, target, "p", others or TaskOwners(), owned))


@pytest.mark.rules("STR-1")
def test_a_member_that_has_all_stays_as_it_is() -> None:
    """Stable at the assignment epoch: nothing changes, whatever it owns."""
    current = has(tasks(0), epoch=3)

    assert look(current, tasks(0, 1)) is current


@pytest.mark.rules("STR-1", "STR-4")
def test_free_tasks_come_at_once_with_their_epoch() -> None:
    """A kept task keeps its epoch, a new one has that of the assignment; the previous epoch is remembered."""
    found = look(has(tasks(0)), tasks(0, 1))

    assert found == CurrentAssignment(3, 2, STABLE, tasks(0, 1), NO_TASKS, {Task("0", 0): 2, Task("0", 1): 3})


@pytest.mark.rules("STR-1", "STR-2")
@pytest.mark.parametrize("owned", [None, tasks(0, 1), tasks(1, 5)])
def test_tasks_are_given_up_first(owned: Tasks | None) -> None:
    """While the member may still own what it must give up, it stays at its epoch and gets nothing new."""
    found = look(has(tasks(0, 1)), tasks(0, 2), owned)

    assert found[:5] == (2, 2, UNREVOKED, tasks(0), tasks(1))
    assert found.stamps == {Task("0", 0): 2, Task("0", 1): 2}


@pytest.mark.rules("STR-1")
def test_who_owns_nothing_of_it_gives_up_and_takes_in_one_step() -> None:
    """A member that reports that it owns nothing goes to the new epoch at once."""
    found = look(has(tasks(0, 1)), tasks(0, 2), NO_TASKS)

    assert found[:5] == (3, 2, STABLE, tasks(0, 2), NO_TASKS)


@pytest.mark.rules("STR-1")
@pytest.mark.parametrize("owned", [None, tasks(0, 1)])
def test_a_pending_revocation_waits_for_the_report(owned: Tasks | None) -> None:
    """Without a list, or with one that still names such a task, nothing changes."""
    current = has(tasks(0), pending=tasks(1), state=UNREVOKED)

    assert look(current, tasks(0), owned) is current


@pytest.mark.rules("STR-1")
def test_the_report_ends_a_pending_revocation() -> None:
    """Then the member takes the assignment epoch; if the target asks for more, it gives that up at the next epoch."""
    current = has(tasks(0), pending=tasks(1), state=UNREVOKED)

    assert look(current, tasks(0), tasks(0))[:5] == (3, 2, STABLE, tasks(0), NO_TASKS)
    assert look(current, NO_TASKS, tasks(0), epoch=7)[:5] == (3, 2, UNREVOKED, NO_TASKS, tasks(0))


@pytest.mark.rules("STR-1", "STR-3")
def test_tasks_of_others_come_one_by_one() -> None:
    """A member waits at the new epoch for active tasks that another process holds, also those being given up."""
    taken = owners(x=("q", has(tasks(1))), y=("r", has(NO_TASKS, pending=tasks(2), state=UNREVOKED)))
    waiting = look(has(tasks(0)), tasks(0, 1, 2), others=taken)
    one = look(waiting, tasks(0, 1, 2), others=owners(x=("q", has(tasks(1)))))
    all_of_them = look(one, tasks(0, 1, 2))

    assert waiting[:4] == (3, 2, UNRELEASED, tasks(0))
    assert one[:4] == (3, 3, UNRELEASED, tasks(0, 2))
    assert all_of_them[:4] == (3, 3, STABLE, tasks(0, 1, 2))


@pytest.mark.rules("STR-3")
def test_a_process_has_a_task_once() -> None:
    """Standbys of other processes do not matter; in its own process any role of the task makes a member wait."""
    elsewhere = owners(x=("q", has(tasks(standby=[0]))))
    same_process = owners(x=("p", has(tasks(standby=[0]))))
    active_there = owners(x=("q", has(tasks(0))))
    active_here = owners(x=("p", has(tasks(0))))

    assert look(has(NO_TASKS), tasks(0), others=elsewhere).state is STABLE
    assert look(has(NO_TASKS), tasks(0), others=same_process).state is UNRELEASED
    assert look(has(NO_TASKS), tasks(standby=[0]), others=active_there).state is STABLE
    assert look(has(NO_TASKS), tasks(standby=[0]), others=active_here).state is UNRELEASED
    assert look(has(NO_TASKS), tasks(standby=[0]), others=same_process).state is UNRELEASED


@pytest.mark.rules("STR-1")
def test_roles_are_looked_at_together() -> None:
    """A standby to give up holds back an active task to take."""
    found = look(has(tasks(standby=[0])), tasks(1))

    assert found[2:5] == (UNREVOKED, NO_TASKS, tasks(standby=[0]))
