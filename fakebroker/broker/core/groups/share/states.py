"""The states of a share group, and those of its share partitions as the group knows them: two tables (SGH-15, SGH-10).

Kafka: `ShareGroup.ShareGroupState`, `ShareGroupStatePartitionMetadataInfo`. What the methods of `StatePartitions` do is
the second table; what a group has done with single records is in `broker/core/share_partitions/states.py`.
"""

from enum import Enum, StrEnum
from typing import Final


class ShareGroupState(StrEnum):
    """Spelled as ShareGroupDescribe and ListGroups spell it."""

    EMPTY = "Empty"
    STABLE = "Stable"
    DEAD = "Dead"


class MembersEvent(Enum):
    """What makes a group change its state; the values are the texts of the diagram in docs."""

    FIRST_JOINED = "the first member joins"
    LAST_WENT = "the last member leaves or times out"
    DELETED = "the group is deleted"


GROUP_TRANSITIONS: Final[dict[tuple[ShareGroupState, MembersEvent], ShareGroupState]] = {
    (ShareGroupState.EMPTY, MembersEvent.FIRST_JOINED): ShareGroupState.STABLE,
    (ShareGroupState.STABLE, MembersEvent.LAST_WENT): ShareGroupState.EMPTY,
    (ShareGroupState.EMPTY, MembersEvent.DELETED): ShareGroupState.DEAD,
}


class PartitionState(Enum):
    """Whether a share partition has a state at the share coordinator, as its group knows it."""

    UNKNOWN = "Unknown"
    INITIALIZING = "Initializing"
    INITIALIZED = "Initialized"  # only these are assigned
    REINITIALIZING = "Initialized and Initializing"  # it is given another start offset
    DELETING = "Deleting"


class PartitionEvent(Enum):
    """What happens to that state; the values are the texts of the diagram in docs."""

    ASKED_FOR = "the share coordinator is initializing it"
    MADE = "the share coordinator has initialized it"
    FAILED = "the initialization failed"
    DELETION_BEGAN = "its deletion starts"
    FORGOTTEN = "it is deleted, or its topic is"


_S, _E = PartitionState, PartitionEvent
PARTITION_TRANSITIONS: Final[dict[tuple[PartitionState, PartitionEvent], PartitionState]] = {
    (_S.UNKNOWN, _E.ASKED_FOR): _S.INITIALIZING,
    (_S.INITIALIZING, _E.ASKED_FOR): _S.INITIALIZING,
    (_S.INITIALIZING, _E.MADE): _S.INITIALIZED,
    (_S.INITIALIZING, _E.FAILED): _S.UNKNOWN,
    (_S.INITIALIZING, _E.DELETION_BEGAN): _S.DELETING,
    (_S.INITIALIZING, _E.FORGOTTEN): _S.UNKNOWN,
    (_S.INITIALIZED, _E.ASKED_FOR): _S.REINITIALIZING,
    (_S.INITIALIZED, _E.DELETION_BEGAN): _S.DELETING,
    (_S.INITIALIZED, _E.FORGOTTEN): _S.UNKNOWN,
    (_S.REINITIALIZING, _E.ASKED_FOR): _S.REINITIALIZING,
    (_S.REINITIALIZING, _E.MADE): _S.INITIALIZED,
    (_S.REINITIALIZING, _E.FAILED): _S.INITIALIZED,
    (_S.REINITIALIZING, _E.DELETION_BEGAN): _S.DELETING,
    (_S.REINITIALIZING, _E.FORGOTTEN): _S.UNKNOWN,
    (_S.DELETING, _E.FORGOTTEN): _S.UNKNOWN,
}
