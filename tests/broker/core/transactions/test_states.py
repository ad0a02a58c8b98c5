"""States by their numbers and names, and the diagram of their transitions."""

import pytest

from fakebroker.broker.core.transactions.states import TRANSITIONS, TransactionState, Trigger
from tests.support.time import DAY
from tests.support.transactions import COMPLETE_ABORT, COMPLETE_COMMIT, DELAY, EMPTY, ONGOING, Transactions


@pytest.mark.rules("TS-3", "DX-1")
def test_names_and_numbers_are_kafkas() -> None:
    """As DescribeTransactions and the records have them."""
    names = [state.kafka_name for state in TransactionState]

    assert names == [
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    ]
    assert [TransactionState.of_name(name) for name in names] == list(TransactionState)
    assert TransactionState.of_name("empty") is None


def test_what_happens_is_in_the_diagram() -> None:
    """Every transition that these histories make is drawn, and every one that is drawn is made."""
    seen = set()
    for state in (EMPTY, ONGOING, COMPLETE_COMMIT, COMPLETE_ABORT):
        for act in ("init", "add", "commit", "abort", "expire"):
            lab = Transactions(DELAY)
            producer = lab.bring_to(state)
            if act == "init":
                lab.init()
            elif act == "add":
                lab.add(producer)
            elif act == "expire":
                lab.wait(8 * DAY)
            else:
                lab.end(producer, commit=act == "commit")
            lab.wait(1000)
            seen |= {(each.before, each.after) for each in lab.transitions()}

    drawn = {(before.kafka_name, after.kafka_name) for (before, _), after in TRANSITIONS.items()}
    assert seen == drawn - {(ONGOING, ONGOING)}
    assert {trigger for _, trigger in TRANSITIONS} == set(Trigger)
