"""DescribeTransactions, key 65, v0: what the coordinator knows of transactional ids (KIP-664, DX-1, DX-2)."""

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.apis.written_entries import WrittenEntries
from fakebroker.broker.core.transactions.states import TransactionState as State
from fakebroker.broker.core.transactions.transaction import Transaction
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.wire.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)

PARTITIONS_PER_STEP = 2_000  # and transactional ids, which cost about as much


def handle(call: Call, request: DescribeTransactionsRequest) -> DescribeTransactionsResponse | None:
    """Describe each transactional id by itself, in the order of the request."""
    return call.work(_in_steps(call, request), may_begin_later=True)


def _in_steps(call: Call, request: DescribeTransactionsRequest) -> Steps[DescribeTransactionsResponse]:
    """A transactional id that is asked for again has the same state: it may have many partitions."""
    response, known = DescribeTransactionsResponse(), dict[str, TransactionState]()
    pace, written = call.pace(PARTITIONS_PER_STEP), WrittenEntries(call)
    for transactional_id in request.transactional_ids:
        described, partitions = known.get(transactional_id), 0
        if described is None:
            described = known[transactional_id] = _describe(call, transactional_id)
            partitions = sum(len(topic.partitions) for topic in described.topics)
        elif written.is_over(described):
            yield
        response.transaction_states.append(described)
        if pace.is_over(1 + partitions):
            yield
    return response


def _describe(call: Call, transactional_id: str) -> TransactionState:
    """One transactional id, or why it is not shown: then the numbers are 0 and the texts empty (DX-2)."""
    if not transactional_id:
        return TransactionState(transactional_id=transactional_id, error_code=ErrorCode.INVALID_REQUEST)
    try:
        transaction = call.transaction_shard(transactional_id).transaction(transactional_id)
    except KafkaError as error:
        return TransactionState(transactional_id=transactional_id, error_code=error.code)
    if transaction is None or transaction.state is State.DEAD:
        return TransactionState(transactional_id=transactional_id, error_code=ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
    return _described(transaction)


def _described(transaction: Transaction) -> TransactionState:
    topics: dict[str, list[int]] = {}
    for partition in transaction.partitions:
        topics.setdefault(partition.topic, []).append(partition.partition)
    return TransactionState(
        transactional_id=transaction.transactional_id,
        transaction_state=transaction.state.kafka_name,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_start_time_ms=transaction.start_ms,
        producer_id=transaction.producer.id,
        producer_epoch=transaction.producer.epoch,
        topics=[TopicData(topic=name, partitions=indexes) for name, indexes in topics.items()],
    )
