"""The states of a streams group and of its members, the codes of what a heartbeat tells, and a member's way.

Kafka: `StreamsGroup.StreamsGroupState`, `MemberState`, `StreamsGroupHeartbeatResponse.Status`. What a member does in a
state is in `reconciliation.py`.
"""

from enum import Enum, IntEnum, StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fakebroker.broker.core.groups.streams.member import CurrentAssignment


class GroupState(StrEnum):
    """A group's state, spelled as StreamsGroupDescribe and ListGroups spell it (STG-1)."""

    EMPTY = "Empty"
    NOT_READY = "NotReady"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"


class MemberState(IntEnum):
    """How far a member is on its way to its target assignment; the values are those of its records (STR)."""

    STABLE = 1
    UNREVOKED_TASKS = 2
    UNRELEASED_TASKS = 3

    @property
    def text(self) -> str:
        """The name that events and views tell, such as "UnrevokedTasks"."""
        return _TEXTS[self]


_TEXTS = {
    MemberState.STABLE: "Stable",
    MemberState.UNREVOKED_TASKS: "UnrevokedTasks",
    MemberState.UNRELEASED_TASKS: "UnreleasedTasks",
}


class Step(Enum):
    """What one look at a member's target assignment comes to; the values are the texts of the diagram in the docs."""

    REVOKE = "it must give up tasks first"
    WAIT = "other members still own some of its tasks"
    REACH = "it owns its target assignment"


NEXT_STATE: dict[Step, MemberState] = {
    Step.REVOKE: MemberState.UNREVOKED_TASKS,
    Step.WAIT: MemberState.UNRELEASED_TASKS,
    Step.REACH: MemberState.STABLE,
}

ABSENT = "Absent"  # what events say of one who is no member (yet, or any more)


def member_state_text(current: "CurrentAssignment | None") -> str:
    """A member's state as events and views tell it, e.g. "UnrevokedTasks"; None is no member."""
    return ABSENT if current is None else current.state.text


class StatusCode(IntEnum):
    """What the answer to a heartbeat tells of the group beside errors (STH-30)."""

    STALE_TOPOLOGY = 0
    MISSING_SOURCE_TOPICS = 1
    INCORRECTLY_PARTITIONED_TOPICS = 2
    MISSING_INTERNAL_TOPICS = 3
    SHUTDOWN_APPLICATION = 4
    ASSIGNMENT_DELAYED = 5
