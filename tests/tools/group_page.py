"""The page docs/groups.md: the state machine of classic groups, drawn from the tables the code runs on."""

from fakebroker.core.groups.states import Event, State
from fakebroker.core.groups.table import HANDLERS, MOVES

_EVENTS = {
    Event.ASK_FOR_ID: "JoinGroup without id, v4+",
    Event.JOIN_NEW: "JoinGroup of a new member",
    Event.JOIN_MEMBER: "JoinGroup of a member",
    Event.JOIN_RETURNED: "JoinGroup of a static member that forgot its id",
    Event.SYNC: "SyncGroup",
    Event.HEARTBEAT: "Heartbeat",
    Event.MEMBER_LEFT: "members left or their sessions ended",
    Event.PENDING_LEFT: "a handed-out id left",
    Event.PENDING_TIMED_OUT: "a handed-out id timed out",
    Event.JOIN_TIMER: "the join timer fires",
    Event.SYNC_TIMER: "the sync timer fires",
}
_LIVE = (State.EMPTY, State.PREPARING, State.COMPLETING, State.STABLE)


def groups_page(note: str) -> str:
    """The diagram of the states, and what a group does with each event in each state."""
    lines = [
        "# Classic groups",
        note,
        "",
        "The state machine is two tables in `fakebroker/core/groups/table.py`; this page is drawn from them.",
        "",
        "## States",
        "",
        "```mermaid",
        "stateDiagram-v2",
        f"    [*] --> {State.EMPTY}",
        *[f"    {before} --> {after}: {why.value}" for (before, why), after in MOVES.items()],
        f"    {State.DEAD} --> [*]",
        "```",
        "",
        "## What a group does with what it hears",
        "",
        "The functions' names; what is refused in every state alike is refused before. A dash cannot happen.",
        "",
        f"| | {' | '.join(_LIVE)} |",
        "|---|---|---|---|---|",
    ]
    for event in Event:
        cells = [HANDLERS[state][event].__name__ if event in HANDLERS[state] else "-" for state in _LIVE]
        lines.append(f"| {_EVENTS[event]} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
