"""The states of a classic group, the diagram of its transitions, and the names of its inputs.

Kafka: `ClassicGroupState` and `ClassicGroup.transitionTo`. What a group does with an input in a state is in `table.py`.
"""

from enum import Enum, IntEnum, StrEnum, auto


class State(StrEnum):
    """A group's state, spelled as DescribeGroups and ListGroups spell it (ST)."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class Trigger(Enum):
    """What makes a group change its state; the values are texts of docs/reference/classic-group-states.md."""

    REBALANCE_STARTED = "a rebalance starts"
    ALL_MEMBERS_JOINED = "join phase ended"
    NO_MEMBERS_LEFT = "join phase ended, no members"
    ASSIGNMENT_STORED = "the leader's assignment was stored"
    LOADED = "loaded with members"
    REMOVED = "deleted, expired or unloaded"


class GroupInput(IntEnum):
    """What a group reacts to: requests that passed the checks common to all states, and its timers."""

    JOIN_NEEDS_MEMBER_ID = 0  # JoinGroup v4+ without a member id: the client must join again with one (KIP-394, JG-16)
    JOIN_NEW = auto()  # JoinGroup of a member to add: no member id before v4, a pending member id, a new instance id
    JOIN_MEMBER = auto()  # JoinGroup of a member
    STATIC_REJOIN = auto()  # JoinGroup of a known instance id without a member id (KIP-345, JG-22)
    SYNC = auto()
    HEARTBEAT = auto()
    MEMBER_LEFT = auto()  # one or several, after they were removed: LeaveGroup or the session timer
    PENDING_MEMBER_LEFT = auto()  # LeaveGroup of a member id that was handed out and has not joined
    PENDING_MEMBER_TIMED_OUT = auto()
    JOIN_TIMER = auto()
    SYNC_TIMER = auto()
    REBALANCE_REQUESTED = auto()  # by a test
    HOLD_RELEASED = auto()  # by a test (`holds.py`)


TRANSITIONS: dict[tuple[State, Trigger], State] = {
    (State.EMPTY, Trigger.REBALANCE_STARTED): State.PREPARING,
    (State.EMPTY, Trigger.LOADED): State.STABLE,
    (State.PREPARING, Trigger.ALL_MEMBERS_JOINED): State.COMPLETING,
    (State.PREPARING, Trigger.NO_MEMBERS_LEFT): State.EMPTY,
    (State.COMPLETING, Trigger.ASSIGNMENT_STORED): State.STABLE,
    (State.COMPLETING, Trigger.REBALANCE_STARTED): State.PREPARING,
    (State.STABLE, Trigger.REBALANCE_STARTED): State.PREPARING,
    (State.EMPTY, Trigger.REMOVED): State.DEAD,
    (State.PREPARING, Trigger.REMOVED): State.DEAD,
    (State.COMPLETING, Trigger.REMOVED): State.DEAD,
    (State.STABLE, Trigger.REMOVED): State.DEAD,
}
