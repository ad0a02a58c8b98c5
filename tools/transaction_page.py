"""docs/reference/transaction-states.md: the states of transactional ids, drawn from the tables the code runs on."""

from fakebroker.broker.core.transactions.states import TransactionInput
from fakebroker.broker.core.transactions.table import COLUMNS, HANDLERS
from tools.diagrams import shown

_INPUTS = {
    TransactionInput.INIT_PRODUCER_ID: "InitProducerId",
    TransactionInput.ADD_PARTITIONS: "partitions are to be added",
    TransactionInput.COMMIT: "EndTxn v0-v4, commit",
    TransactionInput.ABORT: "EndTxn v0-v4, abort",
    TransactionInput.COMMIT_CURRENT: "EndTxn v5, commit",
    TransactionInput.COMMIT_EARLIER: "EndTxn v5, commit, with the epoch before",
    TransactionInput.ABORT_CURRENT: "EndTxn v5, abort",
    TransactionInput.ABORT_EARLIER: "EndTxn v5, abort, with the epoch before",
    TransactionInput.OVERDUE: "open for longer than its timeout",
    TransactionInput.MARKERS_WRITTEN: "all markers were written",
}


def transaction_states_page(note: str) -> str:
    """The diagram of the states, and what the coordinator does with each input in each state."""
    names = [state.kafka_name for state in COLUMNS]
    lines = [
        "# States of transactional ids",
        note,
        "",
        "The state machine is two tables: `TRANSITIONS` in `fakebroker/broker/core/transactions/states.py` and",
        "`HANDLERS` in `fakebroker/broker/core/transactions/table.py`; this page is drawn from them.",
        "",
        "## States",
        "",
        shown("transactional-id"),
        "",
        "## What the coordinator does with each input",
        "",
        "The functions' names; what is answered in every state alike is answered before. A dash cannot happen.",
        "",
        f"| | {' | '.join(names)} |",
        f"|{'---|' * (len(names) + 1)}",
    ]
    for what in TransactionInput:
        cells = [HANDLERS[state][what].__name__ if what in HANDLERS[state] else "-" for state in COLUMNS]
        lines.append(f"| {_INPUTS[what]} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
