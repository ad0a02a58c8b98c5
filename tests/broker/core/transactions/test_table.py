"""Each input in each state of a transactional id: what it is answered, and the state after it (TX-9, TX-20, TX-21)."""

from collections.abc import Callable

import pytest

from fakebroker.broker.core.transactions.producer import Producer
from fakebroker.broker.core.transactions.states import TransactionInput, TransactionState
from fakebroker.broker.core.transactions.table import COLUMNS, HANDLERS
from tests.support.transactions import (
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    DELAY,
    EMPTY,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
    T0,
    Transactions,
)

STATES = (EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT)
Request = Callable[[Transactions, Producer], str]


def outcome(lab: Transactions, before: Producer, code: int) -> str:
    """The code, the state after it if it succeeded, and "+1" if the epoch is another one."""
    if code:
        return str(int(code))
    raised = lab.transaction().producer.epoch - before.epoch
    return f"{lab.state()}{f' +{raised}' if raised else ''}"


def init(lab: Transactions, producer: Producer) -> str:
    return outcome(lab, producer, lab.init().code)


def init_again(lab: Transactions, producer: Producer) -> str:
    return outcome(lab, producer, lab.init(producer).code)


def add(lab: Transactions, producer: Producer) -> str:
    return outcome(lab, producer, lab.add(producer, T0))


def end(*, commit: bool, is_tv2: bool, earlier: bool = False) -> Request:
    def send(lab: Transactions, producer: Producer) -> str:
        sender = Producer(producer.id, producer.epoch - earlier)
        return outcome(lab, producer, lab.end(sender, commit=commit, is_tv2=is_tv2).code)

    return send


REQUESTS: dict[str, Request] = {
    "init": init,
    "init, with ids": init_again,
    "add": add,
    "commit": end(commit=True, is_tv2=False),
    "abort": end(commit=False, is_tv2=False),
    "commit v5": end(commit=True, is_tv2=True),
    "abort v5": end(commit=False, is_tv2=True),
    "commit v5, earlier epoch": end(commit=True, is_tv2=True, earlier=True),
    "abort v5, earlier epoch": end(commit=False, is_tv2=True, earlier=True),
}
TEXT = """
                         | Empty           | Ongoing          | P.. | P.. | CompleteCommit  | CompleteAbort
init                     | Empty +1        | 51               | 51  | 51  | Empty +1        | Empty +1
init, with ids           | Empty +1        | 51               | 51  | 51  | Empty +1        | Empty +1
add                      | Ongoing         | Ongoing          | 51  | 51  | Ongoing         | Ongoing
commit                   | 48              | PrepareCommit    | 51  | 51  | CompleteCommit  | 48
abort                    | 48              | PrepareAbort     | 51  | 51  | 48              | CompleteAbort
commit v5                | 48              | PrepareCommit +1 | 51  | 51  | 48              | 48
abort v5                 | PrepareAbort +1 | PrepareAbort +1  | 51  | 51  | PrepareAbort +1 | PrepareAbort +1
commit v5, earlier epoch | 90              | 90               | 51  | 51  | CompleteCommit  | 48
abort v5, earlier epoch  | 90              | 90               | 51  | 51  | 48              | CompleteAbort
"""
TABLE = {name: cells for name, *cells in ([cell.strip() for cell in row.split("|")] for row in TEXT.splitlines()[2:])}


@pytest.mark.rules("TX-2", "TX-9", "TX-20", "TX-21", "PI-7", "PI-8", "PI-10")
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("request_name", REQUESTS)
def test_each_request_in_each_state(request_name: str, state: str) -> None:
    """The answer and the state after it are those that a Kafka 4.3.1 gave."""
    lab = Transactions(DELAY)
    producer = lab.bring_to(state)

    assert REQUESTS[request_name](lab, producer) == TABLE[request_name][STATES.index(state)]


@pytest.mark.rules("TX-1", "TX-20")
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("request_name", ["init", "add", "commit", "abort"])
def test_the_first_protocol_in_a_broker_that_knows_no_other(request_name: str, state: str) -> None:
    """Kafka 3.9 answers the same."""
    lab = Transactions(DELAY, as_release="3.9")
    producer = lab.bring_to(state, is_tv2=False)

    assert REQUESTS[request_name](lab, producer) == TABLE[request_name][STATES.index(state)]


def test_the_table_has_every_state_that_is_ever_stored() -> None:
    """Dead ids are forgotten, and PrepareEpochFence is never written."""
    assert (
        set(HANDLERS)
        == set(COLUMNS)
        == set(TransactionState)
        - {
            TransactionState.DEAD,
            TransactionState.PREPARE_EPOCH_FENCE,
        }
    )


def test_every_input_is_in_the_table() -> None:
    """No input is without a state in which it can come."""
    assert {each for handlers in HANDLERS.values() for each in handlers} == set(TransactionInput)
