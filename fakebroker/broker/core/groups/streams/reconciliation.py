"""Reconciliation: how a member gets from the tasks it has to its target assignment (STR).

One call is one look, at a heartbeat of the member; it makes a value and changes nothing. A task changes hands in three
looks: its owner gets the revocation, its owner reports that it did, its new owner finds it free. The three roles
are looked at together. Kafka: `CurrentAssignmentBuilder`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from fakebroker.broker.core.groups.streams.member import CurrentAssignment
from fakebroker.broker.core.groups.streams.states import NEXT_STATE, MemberState, Step
from fakebroker.broker.core.groups.streams.task_owners import TaskOwners
from fakebroker.broker.core.groups.streams.tasks import NO_TASKS, Task, Tasks, tasks_of


class Goal(NamedTuple):
    """What a member shall have, and what it tells while it gets there.

    Args:
        epoch: the assignment epoch, for which the target was computed.
        target: the tasks that the member shall have.
        process_id: the process of the member.
        owners: which processes have which tasks, this member's own among them.
        owned: what the member says it owns; None: it does not say (STR-2).
    """

    epoch: int
    target: Tasks
    process_id: str
    owners: TaskOwners
    owned: Tasks | None = None

    def may_still_own(self, tasks: Tasks) -> bool:
        """Whether the member may own some of `tasks`: it names one, or does not say what it owns (STR-1)."""
        return bool(tasks) if self.owned is None else self.owned.have_any_of(tasks)


def reconcile(current: CurrentAssignment, goal: Goal) -> CurrentAssignment:
    """What the member has after one look at its goal: `current` itself if nothing changes (STR-1)."""
    if current.is_reconciled_to(goal.epoch):
        return current
    return LOOKS[current.state](current, goal)


def look_when_unrevoked(current: CurrentAssignment, goal: Goal) -> CurrentAssignment:
    """Wait until the member owns nothing of what it must give up, then go on towards the target (STR-1).

    If the target has changed meanwhile it may have to give up more, at the next epoch.
    """
    if goal.may_still_own(current.pending):
        return current
    return _step(current, goal, current.epoch + 1)


def approach(current: CurrentAssignment, goal: Goal) -> CurrentAssignment:
    """Compare what the member has with its target, and take the step that is possible now (STR-1, STR-3).

    It gives up first, at the same epoch, and only then takes over what is free; what others still have it gets one by
    one at later looks, already at the new epoch.
    """
    return _step(current, goal, current.epoch)


def _step(current: CurrentAssignment, goal: Goal, epoch_before: int) -> CurrentAssignment:
    """`approach`; `epoch_before` is the member's epoch while it has something to give up."""
    assigned, target = current.assigned, goal.target
    kept = Tasks(*(_common(have, want) for have, want in zip(assigned, target, strict=True)))
    surplus = Tasks(*(_without(have, want) for have, want in zip(assigned, target, strict=True)))
    if goal.may_still_own(surplus):
        return _after(Step.REVOKE, current, epoch_before, kept, surplus, current.stamps)
    wanted = Tasks(*(_without(want, have) for have, want in zip(assigned, target, strict=True)))
    free = _free(wanted, goal)
    stamps = dict.fromkeys(free.active, goal.epoch)
    step = Step.REACH if free == wanted else Step.WAIT
    return _after(step, current, goal.epoch, _merged(kept, free), NO_TASKS, {**current.stamps, **stamps})


def _free(wanted: Tasks, goal: Goal) -> Tasks:
    """Those of the wanted tasks that the member may take now (STR-3)."""
    process_id, owners = goal.process_id, goal.owners

    def not_taken(tasks: Iterable[Task], is_taken: Callable[[Task, str], bool]) -> tuple[Task, ...]:
        return tuple(task for task in tasks if not is_taken(task, process_id))

    return Tasks(
        not_taken(wanted.active, owners.is_active_taken),
        not_taken(wanted.standby, owners.is_copy_taken),
        not_taken(wanted.warmup, owners.is_copy_taken),
    )


def _common(ours: tuple[Task, ...], theirs: tuple[Task, ...]) -> tuple[Task, ...]:
    known = frozenset(theirs)
    return tuple(task for task in ours if task in known)


def _without(ours: tuple[Task, ...], theirs: tuple[Task, ...]) -> tuple[Task, ...]:
    known = frozenset(theirs)
    return tuple(task for task in ours if task not in known)


def _merged(one: Tasks, other: Tasks) -> Tasks:
    return tasks_of(*((*ours, *theirs) for ours, theirs in zip(one, other, strict=True)))


def _after(
    step: Step,
    before: CurrentAssignment,
    epoch: int,
    assigned: Tasks,
    pending: Tasks,
    stamps: Mapping[Task, int],
) -> CurrentAssignment:
    """What the member has after a step. Its previous epoch is the one before, also when that stays the same."""
    kept = {task: stamps[task] for task in (*assigned.active, *pending.active)}
    return CurrentAssignment(epoch, before.epoch, NEXT_STATE[step], assigned, pending, kept)


LOOKS: dict[MemberState, Callable[[CurrentAssignment, Goal], CurrentAssignment]] = {
    MemberState.STABLE: approach,
    MemberState.UNREVOKED_TASKS: look_when_unrevoked,
    MemberState.UNRELEASED_TASKS: approach,
}
