"""Waiting for a group: what is wanted, and what is said when it does not come."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from fakebroker.broker.core.groups.classic.classic_group import ClassicGroup
from fakebroker.broker.core.groups.classic.states import State
from fakebroker.broker.core.groups.modern.modern_group import ModernGroup
from fakebroker.testing.explanations.event_wording import group_event_text, reason_of
from fakebroker.testing.handles.member_view import MemberView, members_of, view_of

if TYPE_CHECKING:
    from fakebroker.broker.core.groups.classic.holds import GroupHolds
    from fakebroker.broker.core.groups.classic.members import Member
    from fakebroker.broker.core.groups.group import Group
    from fakebroker.testing.explanations.event_wording import GroupEvent

LAST_TRANSITIONS = 5
STATE_NAMES = (*State, "Assigning", "Reconciling", "NotReady")
"""The states of groups of all kinds."""


class Wanted(NamedTuple):
    """The condition of a wait for a group; what is None, or False, does not matter."""

    state: str | None
    members: int | None
    generation: int | None
    epoch: int | None
    protocol: str | None
    joined: int | None
    assigned: bool
    reconciled: bool
    offsets: Mapping[tuple[str, int], int] | None

    def holds(self, group: "Group | None") -> bool:
        """Whether the group is as wanted."""
        classic = group if isinstance(group, ClassicGroup) else None
        return (
            (self.state is None or self.state == state_of(group))
            and (self.members is None or self.members == _member_count(group))
            and (self.generation is None or (classic is not None and classic.generation >= self.generation))
            and (self.epoch is None or (classic is None and group is not None and group.epoch >= self.epoch))
            and (self.protocol is None or (classic is not None and classic.protocol == self.protocol))
            and (self.joined is None or self.joined == (classic.members.awaiting_join_count if classic else 0))
            and (not self.assigned or (group is not None and _is_assigned(group)))
            and (not self.reconciled or (group is not None and is_reconciled(group)))
            and (self.offsets is None or (group is not None and self.offsets.items() <= offsets_of(group).items()))
        )

    def __str__(self) -> str:
        parts = [self.state] if self.state is not None else []
        parts += ["reconciled"] if self.reconciled else []
        parts += [f"with {count_text(self.members)}"] if self.members is not None else []
        parts += [f"in generation {self.generation} or later"] if self.generation is not None else []
        parts += [f"in epoch {self.epoch} or later"] if self.epoch is not None else []
        parts += [f"with protocol {self.protocol}"] if self.protocol is not None else []
        parts += [f"with {self.joined} waiting JoinGroup requests"] if self.joined is not None else []
        parts += ["with partitions for every member"] if self.assigned else []
        parts += [f"with offsets {dict(self.offsets)}"] if self.offsets is not None else []
        return " ".join(parts) or "there"


def seen(
    group: "Group | None",
    following: str,
    holds: "GroupHolds",
    before: "Sequence[GroupEvent]",
    since: "Sequence[GroupEvent]",
) -> list[str]:
    """What the group is, line by line, the first without indent.

    `following` is what a group with epochs does next, "" if nothing is due; `before` and `since` are its events
    before and since the wait began.
    """
    if group is None:
        lines = ["Dead: the group does not exist"]
    elif isinstance(group, ClassicGroup):
        lines = _seen_classic(group)
    else:
        lines = _seen_modern(group, following)
    lines += [f"  {hold.text(phase)}" for phase, hold in holds.items() if not hold.is_released]
    lines += _events("before the wait", before[-LAST_TRANSITIONS:])
    return lines + (_events("since then", since) or ["  since then: no transition"])


def state_of(group: "Group | None") -> str:
    """Its state; a group that is not there is Dead."""
    return State.DEAD if group is None else group.state


def offsets_of(group: "Group") -> dict[tuple[str, int], int]:
    """The committed offsets by topic and partition."""
    return {(stored[0], stored[1]): stored[2] for stored in group.offsets}


def count_text(count: int) -> str:
    """So many members."""
    return "1 member" if count == 1 else f"{count} members"


def is_reconciled(group: "Group") -> bool:
    """Whether every member has its target assignment: a classic group then is Stable.

    A group with epochs has computed the target assignment of its group epoch, and every member is there.
    """
    return group.is_reconciled if isinstance(group, ModernGroup) else group.state == State.STABLE


def _member_count(group: "Group | None") -> int:
    return 0 if group is None else sum(1 for _ in group.member_ids())


def _seen_classic(group: ClassicGroup) -> list[str]:
    members = group.members.values()
    lines = [f"{group.state} in generation {group.generation} with {count_text(len(group.members))}"]
    lines += [f"  member {each.member_id} of client {each.client_id}: {doing(group, each)}" for each in members]
    return lines + [f"  member id {each}: assigned, has not joined" for each in group.pending_join_members]


def _seen_modern(group: "Group", following: str) -> list[str]:
    members = members_of(group)
    lines = [f"{group.state} in epoch {group.epoch} with {count_text(len(members))}, a {group.kind} group"]
    if isinstance(group, ModernGroup) and group.assignment_epoch != group.group_epoch:
        lines.append(f"  the last assignment was computed for epoch {group.assignment_epoch}")
    lines += [f"  {following}"] if following else []
    return lines + [f"  member {each.member_id} of client {each.client_id}: {_having(each)}" for each in members]


def _having(member: MemberView) -> str:
    has: object = member.assignment if member.tasks is None else member.tasks.active
    parts = [
        f"{member.state or 'not assigned yet'} in epoch {member.member_epoch}",
        f"owns {has}" if has else "owns nothing",
    ]
    revoking = member.revoking if member.tasks is None else member.tasks.revoking
    if revoking:
        parts.append(f"must give up {revoking}")
    return ", ".join(parts)


def _events(when: str, events: "Sequence[GroupEvent]") -> list[str]:
    reasons = [reason_of(event) for event in events]
    texts = [group_event_text(event) for event in events]
    return [f"  {when}: {what}" + (f": {why}" if why else "") for what, why in zip(texts, reasons, strict=True)]


def doing(group: ClassicGroup, member: "Member") -> str:
    """What a member of a classic group does or waits for, in words."""
    if member.parked_join is not None:
        return "its JoinGroup waits"
    if member.parked_sync is not None:
        return "its SyncGroup waits"
    if group.state is State.PREPARING:
        return "has not rejoined"
    if group.state is State.COMPLETING:
        return "has sent no SyncGroup"
    assignment = view_of(group, member).assignment
    return f"owns {assignment}" if assignment else "has no partitions"


def _is_assigned(group: "Group") -> bool:
    return group.state == State.STABLE and all(
        any((view.assignment if view.tasks is None else view.tasks.active).values()) for view in members_of(group)
    )
