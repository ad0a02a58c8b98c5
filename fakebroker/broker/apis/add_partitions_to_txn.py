"""AddPartitionsToTxn, key 24, v0-v5: partitions become part of a transaction, or are looked for in it (KIP-98, TX-8).

v2 PRODUCER_FENCED (KIP-588); v3 flexible; v4 is spoken between brokers: many transactions at once, and the question
whether a partition is in one (KIP-890); v5 TRANSACTION_ABORTABLE.

MOCK: a request of v4 or newer without transactions gets an empty answer, where Kafka 4.3.1 never answers (TX-14).
"""

from collections.abc import Callable, Mapping

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.apis.fencing import as_sent
from fakebroker.broker.core.transactions.producer import Producer
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.records.offsets_topic import TopicPartition
from fakebroker.protocol.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)

PARTITIONS_PER_STEP = 2_000

_FIRST_FENCED = 2
_FIRST_OF_BROKERS = 4

_Codes = Mapping[TopicPartition, ErrorCode]


def handle(call: Call, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse | None:
    """Each transaction by itself; the answer is sent when the last of them is stored."""
    if call.version < _FIRST_OF_BROKERS:
        transaction = _only_transaction(request)
        _judge(call, transaction, lambda codes: call.reply(_response_to_client(transaction, codes)))
        return None
    if not request.transactions:
        return AddPartitionsToTxnResponse()
    return call.work(_judge_all(call, request.transactions), must_finish=True)


def error_response(request: AddPartitionsToTxnRequest, version: int, code: ErrorCode) -> AddPartitionsToTxnResponse:
    """What a handler that failed is answered with: before v4 every partition has the code (AV-10)."""
    if version >= _FIRST_OF_BROKERS:
        return AddPartitionsToTxnResponse(error_code=code)
    transaction = _only_transaction(request)
    return _response_to_client(transaction, dict.fromkeys(_partitions(transaction), code))


def refused_response(
    call: Call, request: AddPartitionsToTxnRequest, denied: frozenset[str]
) -> AddPartitionsToTxnResponse:
    """What v0-v3 are answered if the client may not write to these topics: nothing is added then (TX-8, AU-6)."""
    transaction = _only_transaction(request)
    partitions = _partitions(transaction)
    codes = dict.fromkeys(partitions, ErrorCode.OPERATION_NOT_ATTEMPTED) | _refused(call, partitions)
    for each in partitions:
        if each.topic in denied:
            codes[each] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return _response_to_client(transaction, codes)


def _only_transaction(request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnTransaction:
    """What v0-v3 say of their one transaction, as v4 does."""
    return AddPartitionsToTxnTransaction(
        transactional_id=request.v3_and_below_transactional_id,
        producer_id=request.v3_and_below_producer_id,
        producer_epoch=request.v3_and_below_producer_epoch,
        topics=request.v3_and_below_topics,
    )


def _response_to_client(transaction: AddPartitionsToTxnTransaction, codes: _Codes) -> AddPartitionsToTxnResponse:
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=_topic_results(transaction, codes))


def _judge_all(call: Call, transactions: list[AddPartitionsToTxnTransaction]) -> Steps[AddPartitionsToTxnResponse]:
    """Reply when every transaction has its codes, and return None; the results stand in the order of the request."""
    results = [AddPartitionsToTxnResult(transactional_id=each.transactional_id) for each in transactions]
    missing, pace = len(results), Pace(PARTITIONS_PER_STEP)

    def note(transaction: AddPartitionsToTxnTransaction, result: AddPartitionsToTxnResult, codes: _Codes) -> None:
        nonlocal missing
        result.topic_results = _topic_results(transaction, codes)
        missing -= 1
        if not missing:
            call.reply(AddPartitionsToTxnResponse(results_by_transaction=results))

    for transaction, result in zip(transactions, results, strict=True):
        _judge(call, transaction, lambda codes, t=transaction, r=result: note(t, r, codes))  # type: ignore[misc]
        if pace.is_over(1 + sum([len(topic.partitions) for topic in transaction.topics])):
            yield
    return None


def _judge(call: Call, transaction: AddPartitionsToTxnTransaction, answer: Callable[[_Codes], None]) -> None:
    """Give `answer` the code of each partition, now or when it is stored."""
    partitions = _partitions(transaction)
    refused = _refused(call, partitions)
    if refused:  # nothing is added then (TX-8)
        answer({each: refused.get(each, ErrorCode.OPERATION_NOT_ATTEMPTED) for each in partitions})
        return
    if not transaction.transactional_id:
        answer(dict.fromkeys(partitions, ErrorCode.INVALID_REQUEST))
        return
    try:
        shard = call.transaction_shard(transaction.transactional_id)
    except KafkaError as error:
        answer(dict.fromkeys(partitions, error.code))
        return
    producer = Producer(transaction.producer_id, transaction.producer_epoch)
    if transaction.verify_only:
        answer(shard.verify_partitions(transaction.transactional_id, producer, partitions))
        return
    shard.add_partitions(
        transaction.transactional_id,
        producer,
        partitions,
        lambda code: answer(dict.fromkeys(partitions, as_sent(call, code, _FIRST_FENCED))),
        call.now,
        is_tv2=call.version >= _FIRST_OF_BROKERS,
    )


def _partitions(transaction: AddPartitionsToTxnTransaction) -> list[TopicPartition]:
    return [TopicPartition(topic.name, index) for topic in transaction.topics for index in topic.partitions]


def _refused(call: Call, partitions: list[TopicPartition]) -> dict[TopicPartition, ErrorCode]:
    """The partitions that cannot be in a transaction: those that do not exist, and those of internal topics, which
    clients may not write to (v0-v3).
    """
    topics, refused = call.cluster.topics, {}
    for each in partitions:
        topic = topics.get(each.topic)
        if topic is not None and topic.is_internal and call.version < _FIRST_OF_BROKERS:
            refused[each] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        elif topics.partition(each.topic, each.partition) is None:
            refused[each] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return refused


def _topic_results(transaction: AddPartitionsToTxnTransaction, codes: _Codes) -> list[AddPartitionsToTxnTopicResult]:
    """The codes by topic, as the request names them; a topic without partitions is left out of a verification."""
    return [
        AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(
                    partition_index=index, partition_error_code=codes[TopicPartition(topic.name, index)]
                )
                for index in topic.partitions
            ],
        )
        for topic in transaction.topics
        if topic.partitions or not transaction.verify_only
    ]
