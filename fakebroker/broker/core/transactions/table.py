"""What the coordinator does with each input in each state of a transactional id, on one screen.

docs/reference/transaction-states.md is drawn from it. A pair of state and input that is not listed cannot happen:
meeting it is an error of this program. Empty ids, unknown ids, producer ids, epochs that fit neither, and writes under
way are looked at before (`TransactionShard`), so no function here sees a request that is answered alike in every state.

All functions take the shard and the transaction first and the time last; what is between depends on the input.
"""

from collections.abc import Callable
from typing import Any

from fakebroker.broker.core.transactions.adding import add, begin, refuse
from fakebroker.broker.core.transactions.ending import (
    abort_nothing,
    abort_overdue,
    complete,
    ending,
    fenced,
    invalid,
    prepare_abort,
    prepare_commit,
    repeated,
)
from fakebroker.broker.core.transactions.initialization import concurrent, fence, initialize
from fakebroker.broker.core.transactions.states import TransactionInput, TransactionState

_: Callable[..., Any] | None = None  # cannot happen
_In = TransactionInput
# fmt: off
_ROWS: dict[TransactionInput, tuple[Callable[..., Any] | None, ...]] = {
    #                      Empty          Ongoing         PrepareCommit  PrepareAbort  CompleteCommit  CompleteAbort
    _In.INIT_PRODUCER_ID: (initialize,    fence,          concurrent,    concurrent,   initialize,     initialize),
    _In.ADD_PARTITIONS:   (begin,         add,            refuse,        refuse,       begin,          begin),
    _In.COMMIT:           (invalid,       prepare_commit, ending,        ending,       repeated,       invalid),
    _In.ABORT:            (invalid,       prepare_abort,  ending,        ending,       invalid,        repeated),
    _In.COMMIT_CURRENT:   (invalid,       prepare_commit, ending,        ending,       invalid,        invalid),
    _In.COMMIT_EARLIER:   (fenced,        fenced,         _,             _,            repeated,       invalid),
    _In.ABORT_CURRENT:    (abort_nothing, prepare_abort,  ending,        ending,       abort_nothing,  abort_nothing),
    _In.ABORT_EARLIER:    (fenced,        fenced,         _,             _,            invalid,        repeated),
    _In.OVERDUE:          (_,             abort_overdue,  _,             _,            _,              _),
    _In.MARKERS_WRITTEN:  (_,             _,              complete,      complete,     _,              _),
}
# fmt: on

COLUMNS = (
    TransactionState.EMPTY,
    TransactionState.ONGOING,
    TransactionState.PREPARE_COMMIT,
    TransactionState.PREPARE_ABORT,
    TransactionState.COMPLETE_COMMIT,
    TransactionState.COMPLETE_ABORT,
)
"""The states in the order of the table."""

HANDLERS: dict[TransactionState, dict[TransactionInput, Callable[..., Any]]] = {
    state: {each: handler for each, row in _ROWS.items() if (handler := row[column]) is not None}
    for column, state in enumerate(COLUMNS)
}
