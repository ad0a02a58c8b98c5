"""docs/reference/share-group-states.md: states of share groups and of their share partitions, drawn from the tables."""

from collections.abc import Mapping
from enum import Enum
from typing import TypeVar

from fakebroker.broker.core.groups.share.states import (
    GROUP_TRANSITIONS,
    PARTITION_TRANSITIONS,
    PartitionState,
    ShareGroupState,
)

S = TypeVar("S", bound=Enum)
E = TypeVar("E", bound=Enum)


def share_group_states_page(note: str) -> str:
    """Both diagrams."""
    lines = [
        "# States of share groups",
        note,
        "",
        "Drawn from the tables in `fakebroker/broker/core/groups/share/states.py` (KIP-932). A share group does not",
        "rebalance and does not expire (SGH-15):",
        "",
        *_diagram(GROUP_TRANSITIONS, ShareGroupState.EMPTY),
        "",
        "A group notes of each share partition whether the share coordinator keeps a state of it. Only those that are",
        "initialized are assigned (SGH-10); one whose start offset is altered stays initialized meanwhile (SGO-4):",
        "",
        *_diagram(PARTITION_TRANSITIONS, PartitionState.UNKNOWN),
        "",
        "What a group has done with single records: [share-partition-states.md](share-partition-states.md).",
    ]
    return "\n".join(lines) + "\n"


def _diagram(transitions: Mapping[tuple[S, E], S], first: S) -> list[str]:
    states = dict.fromkeys([first, *(before for before, _ in transitions), *transitions.values()])
    names = {state: f"{str(state.value).replace(' ', '')}" for state in states}
    return [
        "```mermaid",
        "stateDiagram-v2",
        *[f'    state "{state.value}" as {name}' for state, name in names.items() if name != state.value],
        f"    [*] --> {names[first]}",
        *[f"    {names[before]} --> {names[after]}: {event.value}" for (before, event), after in transitions.items()],
        "```",
    ]
