"""The states of a classic group, what moves it between them, and what it can hear: names only, see table.py."""

from enum import Enum, IntEnum, StrEnum, auto


class State(StrEnum):
    """A group's state, as DescribeGroups spells it (ST)."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class Move(Enum):
    """Why a group changes its state."""

    REBALANCE = "a rebalance starts"
    ALL_HERE = "join phase done"
    NOBODY_LEFT = "join phase done, no members"
    ASSIGNED = "the leader's assignment is stored"
    LOADED = "loaded with members"
    GONE = "deleted, expired or unloaded"


class Event(IntEnum):
    """What a group hears: requests that passed the checks common to all states, and its timers."""

    ASK_FOR_ID = 0  # JoinGroup without a member id, by a client that must fetch one first (JG-16)
    JOIN_NEW = auto()  # JoinGroup of a member to be added: without id, with a handed-out id, a new instance id
    JOIN_MEMBER = auto()  # JoinGroup of a member
    JOIN_RETURNED = auto()  # JoinGroup of a known instance id that forgot its member id (JG-22)
    SYNC = auto()
    HEARTBEAT = auto()
    MEMBER_LEFT = auto()  # one or several, after they were removed: LeaveGroup or the session timer
    PENDING_LEFT = auto()  # an id that was handed out and never joined
    PENDING_TIMED_OUT = auto()
    JOIN_TIMER = auto()
    SYNC_TIMER = auto()
