"""docs/reference/share-group-states.md: states of share groups and of their share partitions, drawn from the tables."""

from tools.diagrams import shown


def share_group_states_page(note: str) -> str:
    """Both diagrams."""
    lines = [
        "# States of share groups",
        note,
        "",
        "Drawn from the tables in `fakebroker/broker/core/groups/share/states.py` (KIP-932). A share group does not",
        "rebalance and does not expire (SGH-15):",
        "",
        shown("share-group"),
        "",
        "A group notes of each share partition whether the share coordinator keeps a state of it. Only those that are",
        "initialized are assigned (SGH-10); one whose start offset is altered stays initialized meanwhile (SGO-4):",
        "",
        shown("share-group-partition"),
        "",
        "What a group has done with single records: [share-partition-states.md](share-partition-states.md).",
    ]
    return "\n".join(lines) + "\n"
