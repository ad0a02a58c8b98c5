"""ListTransactions, key 66, v0-v2: the transactional ids that this broker coordinates (KIP-664, DX-3, DX-4).

v1 how long a transaction runs at least (KIP-994); v2 a pattern for the id (KIP-1152).

MOCK: ids are listed by partition, then in the order in which they became known; unknown states in that of the request
(GEN-9).
"""

from collections.abc import Callable

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.core.re2.pattern import InvalidPattern, Pattern, compile_pattern
from fakebroker.broker.core.transactions.states import TransactionState as State
from fakebroker.broker.core.transactions.transaction import Transaction
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.pace import Pace, kept
from fakebroker.protocol.wire.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
    TransactionState,
)

TRANSACTIONS_PER_STEP = 5_000  # and states of a pattern that were looked at
RIGHT_COSTS = 10  # to ask whether a client may know of a transaction


def handle(
    call: Call, request: ListTransactionsRequest, may_describe: Callable[[str], bool] | None = None
) -> ListTransactionsResponse | None:
    """Every transactional id that passes all filters; COORDINATOR_LOAD_IN_PROGRESS while a partition is loading.

    `may_describe` says of ids whether the client has a right to know of them; None: it may know of all.
    """
    coordinator = call.node.transactions
    shards = coordinator.all_shards(call.now)
    if coordinator.is_loading:
        return ListTransactionsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    pattern = None
    if request.transactional_id_pattern:
        try:
            pattern = compile_pattern(request.transactional_id_pattern)
        except InvalidPattern:
            return ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
    transactions = [each for shard in shards for each in shard.transactions.values()]
    pace = call.pace(TRANSACTIONS_PER_STEP // (1 if may_describe is None else RIGHT_COSTS))
    passes = _passes(call, request, may_describe)
    return call.work(_in_steps(request, transactions, passes, pattern, pace))


def _in_steps(
    request: ListTransactionsRequest,
    transactions: list[Transaction],
    passes: Callable[[Transaction], bool],
    pattern: Pattern | None,
    pace: Pace,
) -> Steps[ListTransactionsResponse]:
    """The ids are those of the moment of the request, each as it is when its turn comes."""
    states = dict.fromkeys(request.state_filters)
    unknown = yield from kept(states, lambda name: State.of_name(name) is None, pace)
    response = ListTransactionsResponse(unknown_state_filters=unknown)
    for transaction in transactions:
        is_listed = passes(transaction)
        if is_listed and pattern is not None:
            is_listed = yield from pattern.fullmatch(transaction.transactional_id, pace)
        if is_listed:
            response.transaction_states.append(
                TransactionState(
                    transactional_id=transaction.transactional_id,
                    producer_id=transaction.producer.id,
                    transaction_state=transaction.state.kafka_name,
                )
            )
        if pace.is_over():
            yield
    return response


def _passes(
    call: Call, request: ListTransactionsRequest, may_describe: Callable[[str], bool] | None
) -> Callable[[Transaction], bool]:
    """The filters of a request but for the pattern, and what the client may know of.

    Filters that are empty, or negative, let all pass.

    In state Empty no transaction has begun, and its start time of -1 makes it older than any (DX-3).
    """
    states, producer_ids = frozenset(request.state_filters), frozenset(request.producer_id_filters)
    now_ms, duration_ms = call.now.wall_ms, request.duration_filter

    def passes(transaction: Transaction) -> bool:
        if transaction.state is State.DEAD:
            return False
        if states and transaction.state.kafka_name not in states:
            return False
        if producer_ids and transaction.producer.id not in producer_ids:
            return False
        if duration_ms >= 0 and now_ms - transaction.start_ms <= duration_ms:
            return False
        return may_describe is None or may_describe(transaction.transactional_id)

    return passes
