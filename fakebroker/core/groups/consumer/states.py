"""The states of a consumer group and of its members, and the diagram of a member's way to its target assignment.

Kafka: `ConsumerGroup.ConsumerGroupState` and `MemberState`. What a member does in a state is in `reconciliation.py`.
"""

from enum import Enum, IntEnum, StrEnum


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
        """The name that events and views tell, such as "UnrevokedPartitions"."""
        return _TEXTS[self]


_TEXTS = {
    MemberState.STABLE: "Stable",
    MemberState.UNREVOKED_PARTITIONS: "UnrevokedPartitions",
    MemberState.UNRELEASED_PARTITIONS: "UnreleasedPartitions",
}


class Step(Enum):
    """What one look at a member's target assignment comes to; the values are the texts of the diagram in the docs."""

    REVOKE = "it has to give up partitions first"
    WAIT = "other members still own some of its partitions"
    REACH = "it has all that it shall have"


NEXT_STATE: dict[Step, MemberState] = {
    Step.REVOKE: MemberState.UNREVOKED_PARTITIONS,
    Step.WAIT: MemberState.UNRELEASED_PARTITIONS,
    Step.REACH: MemberState.STABLE,
}
