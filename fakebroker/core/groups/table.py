"""The state machine of a classic group, on one screen.

    MOVES      (state, why) -> next state; the diagram in the docs is drawn from it
    HANDLERS   (state, event) -> the function that deals with it

A pair that is not listed cannot happen: meeting it is an error of ours. Group ids, timeouts, protocols, member ids,
instance ids and generations are checked before (ClassicGroup), so no function here sees a request that is refused
in every state alike. All functions take the group first; the rest depends on the event.
"""

from collections.abc import Callable
from typing import Any

from fakebroker.core.groups.joins import add, add_and_start, hand_out_id, rejoin, rejoin_completing, rejoin_stable
from fakebroker.core.groups.rebalance import (
    join_time_over,
    nothing,
    pending_left,
    pending_timed_out,
    someone_left,
    start,
    sync_time_over,
)
from fakebroker.core.groups.states import Event, Move, State
from fakebroker.core.groups.static_rejoin import (
    replace_and_rebalance,
    replace_in_stable,
    replace_static_member,
)
from fakebroker.core.groups.syncs import answer_sync, heartbeat, heartbeat_rejoin, park_sync, refuse_sync

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = State

MOVES: dict[tuple[State, Move], State] = {
    (EMPTY, Move.REBALANCE): PREPARING,
    (EMPTY, Move.LOADED): STABLE,
    (PREPARING, Move.ALL_HERE): COMPLETING,
    (PREPARING, Move.NOBODY_LEFT): EMPTY,
    (COMPLETING, Move.ASSIGNED): STABLE,
    (COMPLETING, Move.REBALANCE): PREPARING,
    (STABLE, Move.REBALANCE): PREPARING,
    **{(state, Move.GONE): DEAD for state in (EMPTY, PREPARING, COMPLETING, STABLE)},
}

_: Callable[..., Any] | None = None  # cannot happen
# fmt: off
_ROWS: dict[Event, tuple[Callable[..., Any] | None, ...]] = {
    #                         Empty          PreparingRebalance CompletingRebalance  Stable
    Event.ASK_FOR_ID:        (hand_out_id,   hand_out_id,       hand_out_id,         hand_out_id),
    Event.JOIN_NEW:          (add_and_start, add,               add_and_start,       add_and_start),
    Event.JOIN_MEMBER:       (_,             rejoin,            rejoin_completing,   rejoin_stable),
    Event.JOIN_RETURNED:     (_,             replace_static_member, replace_and_rebalance, replace_in_stable),
    Event.SYNC:              (_,             refuse_sync,       park_sync,           answer_sync),
    Event.HEARTBEAT:         (_,             heartbeat_rejoin,  heartbeat,           heartbeat),
    Event.MEMBER_LEFT:       (_,             someone_left,      start,               start),
    Event.PENDING_LEFT:      (nothing,       someone_left,      pending_left,        pending_left),
    Event.PENDING_TIMED_OUT: (nothing,       pending_timed_out, nothing,             nothing),
    Event.JOIN_TIMER:        (_,             join_time_over,    _,                   _),
    Event.SYNC_TIMER:        (_,             _,                 sync_time_over,      sync_time_over),
}
# fmt: on

HANDLERS: dict[State, dict[Event, Callable[..., Any]]] = {
    state: {event: handler for event, row in _ROWS.items() if (handler := row[column]) is not None}
    for column, state in enumerate((EMPTY, PREPARING, COMPLETING, STABLE))
}
HANDLERS[DEAD] = {}
