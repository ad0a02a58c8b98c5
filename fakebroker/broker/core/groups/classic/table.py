"""What a classic group does with each input in each state, on one screen.

docs/reference/classic-group-states.md is drawn from it.

A pair of state and input that is not listed cannot happen: meeting it is an error of this program. Group ids, timeouts,
protocols, member ids, instance ids and generations are checked before (`ClassicGroup`), so no function here sees a
request that is rejected in every state alike. All functions take the group first; the rest depends on the input.
"""

from collections.abc import Callable
from typing import Any

from fakebroker.broker.core.groups.classic.joins import (
    add,
    add_and_start,
    rejoin,
    rejoin_completing,
    rejoin_stable,
    require_member_id,
)
from fakebroker.broker.core.groups.classic.rebalance import (
    ignore,
    on_join_hold_released,
    on_join_timeout,
    on_member_left,
    on_pending_left,
    on_pending_timeout,
    on_sync_timeout,
    start,
)
from fakebroker.broker.core.groups.classic.states import GroupInput, State
from fakebroker.broker.core.groups.classic.static_rejoin import (
    replace_and_rebalance,
    replace_in_stable,
    replace_static_member,
)
from fakebroker.broker.core.groups.classic.syncs import (
    answer_sync,
    heartbeat,
    heartbeat_completing,
    heartbeat_rejoin,
    on_sync_hold_released,
    park_sync,
    reject_sync,
)

_: Callable[..., Any] | None = None  # cannot happen
_In = GroupInput
# fmt: off
_ROWS: dict[GroupInput, tuple[Callable[..., Any] | None, ...]] = {
    #                              Empty              PreparingRebalance     CompletingRebalance    Stable
    _In.JOIN_NEEDS_MEMBER_ID:     (require_member_id, require_member_id,     require_member_id,     require_member_id),
    _In.JOIN_NEW:                 (add_and_start,     add,                   add_and_start,         add_and_start),
    _In.JOIN_MEMBER:              (_,                 rejoin,                rejoin_completing,     rejoin_stable),
    _In.STATIC_REJOIN:            (_,                 replace_static_member, replace_and_rebalance, replace_in_stable),
    _In.SYNC:                     (_,                 reject_sync,           park_sync,             answer_sync),
    _In.HEARTBEAT:                (_,                 heartbeat_rejoin,      heartbeat_completing,  heartbeat),
    _In.MEMBER_LEFT:              (_,                 on_member_left,        start,                 start),
    _In.PENDING_MEMBER_LEFT:      (ignore,            on_member_left,        on_pending_left,       on_pending_left),
    _In.PENDING_MEMBER_TIMED_OUT: (ignore,            on_pending_timeout,    ignore,                ignore),
    _In.JOIN_TIMER:               (_,                 on_join_timeout,       _,                     _),
    _In.SYNC_TIMER:               (_,                 _,                     on_sync_timeout,       on_sync_timeout),
    _In.REBALANCE_REQUESTED:      (ignore,            ignore,                start,                 start),
    _In.HOLD_RELEASED:            (ignore,            on_join_hold_released, on_sync_hold_released, ignore),
}
# fmt: on

HANDLERS: dict[State, dict[GroupInput, Callable[..., Any]]] = {
    state: {group_input: handler for group_input, row in _ROWS.items() if (handler := row[column]) is not None}
    for column, state in enumerate((State.EMPTY, State.PREPARING, State.COMPLETING, State.STABLE))
}
HANDLERS[State.DEAD] = {}
