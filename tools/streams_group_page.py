"""docs/reference/streams-group-states.md: the states of streams groups and of their members, drawn from the tables."""

from fakebroker.broker.core.groups.streams.reconciliation import LOOKS
from fakebroker.broker.core.groups.streams.table import GROUP_STATES
from tools.diagrams import shown
from tools.docstrings import first_line, name_of


def streams_group_states_page(note: str) -> str:
    """What the state of a group follows from, and the way of a member to its target assignment."""
    lines = [
        "# States of streams groups",
        note,
        "",
        "Groups of Kafka Streams whose tasks the broker assigns (KIP-1071). Drawn from three tables of the folder",
        "`fakebroker/broker/core/groups/streams`: `GROUP_STATES` in `table.py`, `NEXT_STATE` in `states.py` and",
        "`LOOKS` in `reconciliation.py`.",
        "",
        "## The group",
        "",
        "A group keeps no state: it follows from members, topology and epochs. What holds first counts.",
        "",
        "| state | function | it holds when |",
        "|---|---|---|",
        *[f"| {state} | {name_of(holds)} | {first_line(holds)} |" for state, holds in GROUP_STATES.items()],
        "",
        "## A member",
        "",
        "At each heartbeat one look at the target assignment is taken, which comes to one of three results:",
        "",
        shown("streams-group-member"),
        "",
        "| state | how it looks | what that is |",
        "|---|---|---|",
        *[f"| {state.text} | {name_of(look)} | {first_line(look)} |" for state, look in LOOKS.items()],
    ]
    return "\n".join(lines) + "\n"
