"""Waiting for a group: what is wanted, and what is said when it does not come."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from fakebroker.arguments import check_offsets, check_text, check_whole
from fakebroker.core.groups.classic.states import State
from fakebroker.handles.finding import view_of

if TYPE_CHECKING:
    from fakebroker.core.events import Transition
    from fakebroker.core.groups.classic.classic_group import ClassicGroup
    from fakebroker.core.groups.classic.holds import GroupHolds
    from fakebroker.core.groups.classic.members import Member

LAST_TRANSITIONS = 5


class Wanted(NamedTuple):
    """The condition of a wait for a group; what is None, or False, does not matter."""

    state: str | None
    members: int | None
    generation: int | None
    protocol: str | None
    joined: int | None
    assigned: bool
    offsets: Mapping[tuple[str, int], int] | None

    def check(self) -> None:
        """Raises InvalidArgument for what no group can be: a wait for it would be in vain."""
        numbers = {"members": self.members, "generation": self.generation, "joined": self.joined}
        for field, number in numbers.items():
            if number is not None:
                check_whole(field, number, 0)
        if self.protocol is not None:
            check_text("protocol", self.protocol)
        if self.offsets is not None:
            check_offsets("offsets", self.offsets)

    def holds(self, group: "ClassicGroup | None") -> bool:
        """Whether the group is as wanted."""
        return (
            (self.state is None or self.state == state_of(group))
            and (self.members is None or self.members == (len(group.members) if group else 0))
            and (self.generation is None or (group is not None and group.generation >= self.generation))
            and (self.protocol is None or (group is not None and group.protocol == self.protocol))
            and (self.joined is None or self.joined == (group.members.awaiting_join_count if group else 0))
            and (not self.assigned or (group is not None and _is_assigned(group)))
            and (self.offsets is None or (group is not None and self.offsets.items() <= offsets_of(group).items()))
        )

    def __str__(self) -> str:
        parts = [self.state] if self.state is not None else []
        parts += [f"with {count_text(self.members)}"] if self.members is not None else []
        parts += [f"in generation {self.generation} or later"] if self.generation is not None else []
        parts += [f"with protocol {self.protocol}"] if self.protocol is not None else []
        parts += [f"with {self.joined} waiting JoinGroup requests"] if self.joined is not None else []
        parts += ["with partitions for every member"] if self.assigned else []
        parts += [f"with offsets {dict(self.offsets)}"] if self.offsets is not None else []
        return " ".join(parts) or "there"


def seen(
    group: "ClassicGroup | None", holds: "GroupHolds", before: "list[Transition]", since: "list[Transition]"
) -> list[str]:
    """What the group is, line by line, the first without indent.

    `before` and `since` are its transitions before and since the wait began.
    """
    if group is None:
        lines = ["Dead: there is no such group"]
    else:
        members = group.members.values()
        lines = [f"{group.state} in generation {group.generation} with {count_text(len(group.members))}"]
        lines += [f"  member {each.member_id} of client {each.client_id}: {_doing(group, each)}" for each in members]
        lines += [f"  member id {each}: handed out, has not joined" for each in group.pending_join_members]
    lines += [f"  {hold.text(phase)}" for phase, hold in holds.items() if not hold.is_released]
    lines += _transitions("before the wait", before[-LAST_TRANSITIONS:])
    return lines + (_transitions("since then", since) or ["  since then: no transition"])


def state_of(group: "ClassicGroup | None") -> State:
    """Its state; a group that is not there is Dead."""
    return State.DEAD if group is None else group.state


def offsets_of(group: "ClassicGroup") -> dict[tuple[str, int], int]:
    """The committed offsets by topic and partition."""
    return {(stored[0], stored[1]): stored[2] for stored in group.offsets}


def count_text(count: int) -> str:
    """So many members."""
    return "1 member" if count == 1 else f"{count} members"


def _transitions(when: str, transitions: "list[Transition]") -> list[str]:
    return [f"  {when}: {t.before} -> {t.after}, generation {t.generation}: {t.reason}" for t in transitions]


def _doing(group: "ClassicGroup", member: "Member") -> str:
    if member.parked_join is not None:
        return "its JoinGroup waits"
    if member.parked_sync is not None:
        return "its SyncGroup waits"
    if group.state is State.PREPARING:
        return "has not joined again"
    if group.state is State.COMPLETING:
        return "has sent no SyncGroup"
    assignment = view_of(group, member).assignment
    return f"has {assignment}" if assignment else "has no partitions"


def _is_assigned(group: "ClassicGroup") -> bool:
    members = list(group.members.values())
    return group.state is State.STABLE and all(any(view_of(group, each).assignment.values()) for each in members)
