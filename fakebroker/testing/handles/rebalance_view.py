"""A rebalance that is under way, as a test sees it: who is there already, who is awaited, and what ends the wait."""

from typing import TYPE_CHECKING, NamedTuple

from fakebroker.broker.core.explain.members import MemberExplanation, Reconciliation
from fakebroker.broker.core.groups.classic.classic_group import ClassicGroup
from fakebroker.broker.core.groups.classic.holds import Hold, Phase, waiting_members
from fakebroker.broker.core.groups.classic.states import State
from fakebroker.broker.core.groups.modern.modern_group import ModernGroup

if TYPE_CHECKING:
    from fakebroker.broker.core.groups.group import Group
    from fakebroker.protocol.instant import Instant


class RebalanceView(NamedTuple):
    """What a group is waiting for.

    `phase` is "join" or "sync" for a classic group; for others "assignment", while the target assignment of the group
    epoch was not computed, or "reconciliation", while members are on their way to it. `joined` and `awaited` are member
    ids: whose request waits or who is there, and who is missing. `text` says what the group waits for and `ends` what
    ends that, in words; `left_ms` is the monotonic time after which it ends at the latest, null where no timer does it,
    by `rule`. `hold` says what a test holds, `hold_id` which hold, to release it; `held_for` is how many members
    it waits for, null for one that only a release ends, and `held_names` the members it names that are not there.
    """

    phase: str
    text: str
    joined: list[str]
    awaited: list[str]
    ends: str
    left_ms: int | None = None
    rule: str = ""
    hold: str | None = None
    hold_id: int | None = None
    held_for: int | None = None
    held_names: tuple[str, ...] = ()


def rebalance_of(group: "Group", explained: Reconciliation | None, now: "Instant") -> RebalanceView | None:
    """What the group is waiting for, None if for nothing. `explained` are the members of a group with epochs."""
    if isinstance(group, ClassicGroup):
        if group.state is State.PREPARING:
            return _join_phase(group, now)
        return _sync_phase(group, now) if group.pending_sync_members else None
    if isinstance(group, ModernGroup) and explained is not None and not group.is_empty and not group.is_reconciled:
        return _of_modern(group, explained, now)
    return None


def _join_phase(group: ClassicGroup, now: "Instant") -> RebalanceView:
    joined = [each.member_id for each in group.members.values() if each.parked_join is not None]
    missing = [each.member_id for each in group.members.values() if each.parked_join is None]
    view = RebalanceView("join", "", joined, [*missing, *group.pending_join_members], "")
    hold = _hold(group, Phase.JOIN)
    view = _held(view, group, hold, Phase.JOIN)
    left_ms = None if group.join_timer.due_ms is None else group.join_timer.due_ms - now.mono_ms
    if hold is not None and left_ms is None:
        return view._replace(text="a test holds the join phase", ends=hold.text(Phase.JOIN))
    view = view._replace(left_ms=left_ms)
    if group.in_initial_delay:
        return view._replace(
            text="waits for more members, because the group was Empty",
            ends="the initial delay (group.initial.rebalance.delay.ms); each member that joins extends it",
            rule="JG-30",
        )
    return view._replace(
        text=f"waits for {_count(view.awaited)} to join",
        ends="the last JoinGroup, or the longest rebalance timeout: then dynamic members that have not "
        "rejoined are removed",
        rule="TM-5",
    )


def _sync_phase(group: ClassicGroup, now: "Instant") -> RebalanceView:
    missing = list(group.pending_sync_members)
    joined = [member_id for member_id in group.members if member_id not in group.pending_sync_members]
    left_ms = None if group.sync_timer.due_ms is None else group.sync_timer.due_ms - now.mono_ms
    hold = _hold(group, Phase.SYNC)
    text = f"waits for SyncGroup of {_count(missing)}"
    if group.state is State.COMPLETING and group.leader in missing:
        text = f"waits for the leader {group.leader} to send the assignment with SyncGroup"
    ends = "the last SyncGroup, or the longest rebalance timeout: then members that have not sent it are removed"
    return _held(RebalanceView("sync", text, joined, missing, ends, left_ms, "TM-6"), group, hold, Phase.SYNC)


def _held(view: RebalanceView, group: ClassicGroup, hold: Hold | None, phase: Phase) -> RebalanceView:
    """The view with what a hold keeps from ending."""
    if hold is None:
        return view
    waiting = waiting_members(group.members.values(), phase)
    names = tuple(hold.missing(waiting))
    return view._replace(hold=hold.text(phase), hold_id=hold.hold_id, held_for=hold.until_members, held_names=names)


def _of_modern(group: ModernGroup, explained: Reconciliation, now: "Instant") -> RebalanceView:
    epoch = group.assignment_epoch
    there = [each for each in explained.members if _is_there(each, epoch)]
    awaited = [each for each in explained.members if not _is_there(each, epoch)]
    view = RebalanceView("", "", [each.member_id for each in there], [each.member_id for each in awaited], "")
    if epoch < group.group_epoch:
        text = explained.next or f"the assignment of epoch {group.group_epoch} has not been computed yet"
        return view._replace(phase="assignment", text=text, ends="the next heartbeat that computes it")
    givers = [each for each in awaited if each.gives_up and each.removed_ms is not None]
    removed_ms = min((each.removed_ms or 0 for each in givers), default=None)
    waiting = [each for each in awaited if each.waits_for]
    text = explained.next or f"{_count(view.awaited)} not yet at the target assignment"
    if givers:
        text = f"{_count([each.member_id for each in givers])} must give up partitions that others are assigned"
        text += f"; {len(waiting)} waiting for them" if waiting else ""
    return view._replace(
        phase="reconciliation",
        text=text,
        ends="heartbeats: each assigns a member what is free; a member that gives up nothing in time is removed",
        left_ms=None if removed_ms is None else removed_ms - now.wall_ms,
        rule=givers[0].rule if givers else "",
    )


def _is_there(member: MemberExplanation, assignment_epoch: int) -> bool:
    return member.member_epoch == assignment_epoch and not member.gives_up and not member.waits_for


def _hold(group: ClassicGroup, phase: Phase) -> Hold | None:
    hold = None if group.holds is None else group.holds.get(phase)
    return None if hold is None or hold.is_released else hold


def _count(member_ids: list[str]) -> str:
    return "1 member" if len(member_ids) == 1 else f"{len(member_ids)} members"
