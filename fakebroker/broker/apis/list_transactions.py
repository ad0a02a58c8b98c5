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
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.wire.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
    TransactionState,
)

TRANSACTIONS_PER_STEP = 5_000  # and states of a pattern that were looked at


def handle(call: Call, request: ListTransactionsRequest) -> ListTransactionsResponse | None:
    """Every transactional id that passes all filters; COORDINATOR_LOAD_IN_PROGRESS while a partition is loading."""
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
    unknown = [name for name in dict.fromkeys(request.state_filters) if State.of_name(name) is None]
    transactions = [each for shard in shards for each in shard.transactions.values()]
    response = ListTransactionsResponse(unknown_state_filters=unknown)
    return call.work(_in_steps(response, transactions, _passes(call, request), pattern))


def _in_steps(
    response: ListTransactionsResponse,
    transactions: list[Transaction],
    passes: Callable[[Transaction], bool],
    pattern: Pattern | None,
) -> Steps[ListTransactionsResponse]:
    """The ids are those of the moment of the request, each as it is when its turn comes."""
    pace = Pace(TRANSACTIONS_PER_STEP)
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


def _passes(call: Call, request: ListTransactionsRequest) -> Callable[[Transaction], bool]:
    """The filters of a request but for the pattern: what is empty, or negative, lets all pass.

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
        return duration_ms < 0 or now_ms - transaction.start_ms > duration_ms

    return passes
