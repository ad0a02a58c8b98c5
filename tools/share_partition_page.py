"""docs/reference/share-partition-states.md: the states of records in share partitions, drawn from the table."""

from fakebroker.broker.core.share_partitions.states import EVENT_OF, TRANSITIONS, RecordEvent, RecordState
from tools.diagrams import shown


def share_partition_states_page(note: str) -> str:
    """The diagram of the states, and a row for each event."""
    lines = [
        "# States of records in share partitions",
        note,
        "",
        "What a share group has done with a record (KIP-932): `TRANSITIONS` in",
        "`fakebroker/broker/core/share_partitions/states.py`, from which this page is drawn. Records before the start",
        "of the share partition are done with, those after its end were never delivered; neither has a state.",
        "",
        shown("share-record"),
        "",
        f"| event | type | {' | '.join(state.kafka_name for state in RecordState)} |",
        f"|---|---|{'---|' * len(RecordState)}",
        *[_row(event) for event in RecordEvent],
        "",
        "A dash cannot happen. Where two states stand, the second is for a record that was delivered as often as",
        "`share.delivery.count.limit` allows (SGP-6). The types are those of acknowledgements (SGK). Archiving is only",
        "found where WriteShareGroupState has stored it.",
    ]
    return "\n".join(lines) + "\n"


def _row(event: RecordEvent) -> str:
    types = [f"{kind.value} {kind.name.lower()}" for kind, of in EVENT_OF.items() if of is event]
    cells = [_cell(TRANSITIONS.get((state, event))) for state in RecordState]
    return f"| {event.value} | {', '.join(types)} | {' | '.join(cells)} |"


def _cell(after: tuple[RecordState, RecordState] | None) -> str:
    return "-" if after is None else " or ".join(dict.fromkeys(state.kafka_name for state in after))
