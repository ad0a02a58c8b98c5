"""Holds: a test keeps the join phase or the sync phase of a group from ending, and decides how it ends.

Nothing of this is Kafka's. A hold is data: `rebalance.complete_join_phase` and `syncs.park_sync` ask whether the phase
is held, and what was chosen when it ends. A group without a hold has `holds` None, which is all that it pays.

Holds belong to the group id, not to the group: they stay while its coordinator moves or loads, or the group is removed.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple

from fakebroker.broker.core.groups.classic.members import Member


class Phase(StrEnum):
    """The phase of a rebalance that is held; its members wait for the answer to JoinGroup or SyncGroup meanwhile."""

    JOIN = "join"
    SYNC = "sync"

    @property
    def requests(self) -> str:
        """The requests that wait for its end, as texts call them."""
        return f"{self}s"


class Hold(NamedTuple):
    """One hold, as it was asked for.

    `until_members` is how many members must have sent their request before it ends by itself, None: it ends when it is
    released. `order` names the members in the order in which they are to be answered; who is not named comes after
    them. `leader` names the leader of the new generation. Both name a member id, group instance id or client id; in a
    hold that ends by itself those they name must have joined, too.
    """

    until_members: int | None = None
    order: tuple[str, ...] = ()
    leader: str | None = None
    is_released: bool = False
    hold_id: int = 0

    def is_over(self, waiting: Mapping[str, Member]) -> bool:
        """Whether the phase may end with these members, whose requests are parked."""
        if self.is_released:
            return True
        if self.until_members is None or len(waiting) < self.until_members:
            return False
        return not self.missing(waiting)

    def missing(self, waiting: Mapping[str, Member]) -> list[str]:
        """The names in `order` and `leader` that none of these members has."""
        names = self.order if self.leader is None else (*self.order, self.leader)
        return [name for name in dict.fromkeys(names) if find_member(waiting, name) is None]

    def text(self, phase: Phase) -> str:
        """What the hold does, as a clause about the group."""
        if self.until_members is None:
            return f"held by a test: its {phase.requests} wait for release()"
        names = self.order if self.leader is None else (*self.order, self.leader)
        among = f", {', '.join(dict.fromkeys(names))} among them" if names else ""
        request = "JoinGroup" if phase is Phase.JOIN else "SyncGroup"
        return (
            f"held by a test: its {phase.requests} wait until {self.until_members} members have sent {request}{among}"
        )

    def in_order(self, members: Iterable[Member]) -> list[Member]:
        """The members in the order in which they are to be answered."""
        rest = {member.member_id: member for member in members}
        first = [member for name in self.order for member in _all_named(rest, name)]
        return list(dict.fromkeys([*first, *rest.values()]))


# Of one group id, at most one for each phase.
GroupHolds = dict[Phase, Hold]


def find_member(members: Mapping[str, Member], name: str) -> Member | None:
    """The first member with that member id, group instance id or client id."""
    return next(iter(_all_named(members, name)), None)


def _all_named(members: Mapping[str, Member], name: str) -> list[Member]:
    if name in members:
        return [members[name]]
    return [each for each in members.values() if name in (each.instance_id, each.client_id)]


def waiting_members(members: Iterable[Member], phase: Phase) -> dict[str, Member]:
    """The members whose request of that phase is parked, by member id."""
    is_join = phase is Phase.JOIN
    return {each.member_id: each for each in members if (each.parked_join if is_join else each.parked_sync) is not None}
