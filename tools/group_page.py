"""docs/reference/classic-group-states.md: the state machine of classic groups, drawn from the code's tables."""

from fakebroker.broker.core.groups.classic.states import GroupInput, State
from fakebroker.broker.core.groups.classic.table import HANDLERS
from tools.diagrams import shown

_INPUTS = {
    GroupInput.JOIN_NEEDS_MEMBER_ID: "JoinGroup without member id, v4+",
    GroupInput.JOIN_NEW: "JoinGroup of a new member",
    GroupInput.JOIN_MEMBER: "JoinGroup of a member",
    GroupInput.STATIC_REJOIN: "JoinGroup of a static member without its member id",
    GroupInput.SYNC: "SyncGroup",
    GroupInput.HEARTBEAT: "Heartbeat",
    GroupInput.MEMBER_LEFT: "members left or their sessions ended",
    GroupInput.PENDING_MEMBER_LEFT: "a pending member id left",
    GroupInput.PENDING_MEMBER_TIMED_OUT: "a pending member id timed out",
    GroupInput.JOIN_TIMER: "the join timer fires",
    GroupInput.SYNC_TIMER: "the sync timer fires",
    GroupInput.REBALANCE_REQUESTED: "a test starts a rebalance",
    GroupInput.HOLD_RELEASED: "a test releases a hold",
}
_LIVE = (State.EMPTY, State.PREPARING, State.COMPLETING, State.STABLE)


def groups_page(note: str) -> str:
    """The diagram of the states, and what a group does with each input in each state."""
    lines = [
        "# Classic groups",
        note,
        "",
        "The state machine is two tables: `TRANSITIONS` in `fakebroker/broker/core/groups/classic/states.py` and",
        "`HANDLERS` in `fakebroker/broker/core/groups/classic/table.py`; this page is drawn from them.",
        "",
        "## States",
        "",
        shown("classic-group"),
        "",
        "## What a group does with each input",
        "",
        "The functions' names; what is rejected in every state alike is rejected before. A dash cannot happen.",
        "",
        f"| | {' | '.join(_LIVE)} |",
        "|---|---|---|---|---|",
    ]
    for group_input in GroupInput:
        cells = [HANDLERS[state][group_input].__name__ if group_input in HANDLERS[state] else "-" for state in _LIVE]
        lines.append(f"| {_INPUTS[group_input]} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
