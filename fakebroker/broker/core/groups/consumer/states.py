"""The states of a consumer group and of its members, and the diagram of a member's way to its target assignment.

Kafka: `ConsumerGroup.ConsumerGroupState` and `MemberState`. What a group's state follows from is in `table.py`, what a
member does in a state in `reconciliation.py`.
"""

from enum import Enum, IntEnum, StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fakebroker.broker.core.groups.consumer.member import CurrentAssignment


class GroupState(StrEnum):
    """A group's state, spelled as ConsumerGroupDescribe and ListGroups spell it (CGE-20)."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"


class MemberState(IntEnum):
    """How far a member is on its way to its target assignment; the values are those of its records (CGR)."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2

    @property
    def text(self) -> str:
        """The name that events and views tell, e.g. "UnrevokedPartitions"."""
        return _TEXTS[self]


_TEXTS = {
    MemberState.STABLE: "Stable",
    MemberState.UNREVOKED_PARTITIONS: "UnrevokedPartitions",
    MemberState.UNRELEASED_PARTITIONS: "UnreleasedPartitions",
}


class Step(Enum):
    """What one look at a member's target assignment comes to; the values are the texts of the diagram in the docs."""

    REVOKE = "it must give up partitions first"
    WAIT = "other members still own some of its partitions"
    REACH = "it owns its target assignment"


NEXT_STATE: dict[Step, MemberState] = {
    Step.REVOKE: MemberState.UNREVOKED_PARTITIONS,
    Step.WAIT: MemberState.UNRELEASED_PARTITIONS,
    Step.REACH: MemberState.STABLE,
}

ABSENT = "Absent"  # what events say of one who is no member (yet, or any more)
AWAY = "Away"  # and of a static member that left and may come back


def member_state_text(current: "CurrentAssignment | None") -> str:
    """A member's state as events and views tell it, e.g. "UnrevokedPartitions"; None is no member."""
    if current is None:
        return ABSENT
    return AWAY if current.is_away else current.state.text
