"""AddPartitionsToTxn, key 24, v0-v5: partitions become part of a transaction, or are looked for in it (KIP-98, TX-8).

v2 PRODUCER_FENCED (KIP-588); v3 flexible; v4 is spoken between brokers: many transactions at once, and the question
whether a partition is in one (KIP-890); v5 TRANSACTION_ABORTABLE.

MOCK: a request of v4 or newer without transactions gets an empty answer, where Kafka 4.3.1 never answers (TX-14).
"""

from collections.abc import Generator, Mapping

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

PARTITIONS_PER_STEP = 2_000  # and topics and transactions

_FIRST_FENCED = 2
_FIRST_OF_BROKERS = 4

_Outcome = ErrorCode | Mapping[TopicPartition, ErrorCode]  # for all partitions of a transaction, or for each


def handle(call: Call, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse | None:
    """Each transaction by itself; the answer is sent when the last of them is stored."""
    transactions = request.transactions if call.version >= _FIRST_OF_BROKERS else [_only_transaction(request)]
    return call.work(_Additions(call, transactions).in_steps(), must_finish=True)


def error_response(
    request: AddPartitionsToTxnRequest, version: int, code: ErrorCode
) -> Generator[None, None, AddPartitionsToTxnResponse]:
    """What a handler that failed is answered with: before v4 every partition has the code (AV-10)."""
    if version >= _FIRST_OF_BROKERS:
        return AddPartitionsToTxnResponse(error_code=code)
    topics, pace = [], Pace(PARTITIONS_PER_STEP)
    for topic in request.v3_and_below_topics:
        rows = []
        for index in topic.partitions:
            rows.append(_row(index, code))
            if pace.is_over():
                yield
        topics.append(AddPartitionsToTxnTopicResult(name=topic.name, results_by_partition=rows))
        if pace.is_over():
            yield
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=topics)


def refused_response(
    call: Call, request: AddPartitionsToTxnRequest, denied: frozenset[str]
) -> Steps[AddPartitionsToTxnResponse]:
    """What v0-v3 are answered if the client may not write to these topics: nothing is added then (TX-8, AU-6)."""
    return _Additions(call, [_only_transaction(request)], denied).in_steps()


def _only_transaction(request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnTransaction:
    """What v0-v3 say of their one transaction, as v4 does."""
    return AddPartitionsToTxnTransaction(
        transactional_id=request.v3_and_below_transactional_id,
        producer_id=request.v3_and_below_producer_id,
        producer_epoch=request.v3_and_below_producer_epoch,
        topics=request.v3_and_below_topics,
    )


class _Additions:
    """What becomes of the transactions of one request. It is answered when all partitions have their codes."""

    def __init__(
        self, call: Call, transactions: list[AddPartitionsToTxnTransaction], denied: frozenset[str] = frozenset()
    ) -> None:
        """`denied` are topics that the client may not write to."""
        self._call = call
        self._transactions = transactions
        self._denied = denied
        self._pace = call.pace(PARTITIONS_PER_STEP)
        # In the order of the request; rows have the codes of partitions that cannot be added, the outcomes all others.
        self._topics: list[list[AddPartitionsToTxnTopicResult]] = [[] for _ in transactions]
        self._outcomes: list[_Outcome] = [ErrorCode.NONE] * len(transactions)
        self._missing = len(transactions)
        self._are_begun = False

    def in_steps(self) -> Steps[AddPartitionsToTxnResponse]:
        """Returns the answer; None: it is sent when the last transaction is stored."""
        for index, transaction in enumerate(self._transactions):
            partitions = yield from self._listed(index, transaction)
            if partitions is None:  # nothing is added then (TX-8)
                self._put(index, ErrorCode.OPERATION_NOT_ATTEMPTED)
            else:
                self._begin(index, transaction, partitions)
        self._are_begun = True
        return None if self._missing else (yield from self._response())

    def _listed(
        self, index: int, transaction: AddPartitionsToTxnTransaction
    ) -> Generator[None, None, list[TopicPartition] | None]:
        """Make the rows of a transaction. Returns its partitions, each once; None if one of them cannot be added."""
        partitions: dict[TopicPartition, None] | None = {}
        for topic in transaction.topics:
            rows = list[AddPartitionsToTxnPartitionResult]()
            if topic.partitions or not transaction.verify_only:  # else the topic is left out
                self._topics[index].append(AddPartitionsToTxnTopicResult(name=topic.name, results_by_partition=rows))
            for number in topic.partitions:
                code = self._refusal(topic.name, number)
                rows.append(_row(number, code))
                if code:
                    partitions = None
                elif partitions is not None:
                    partitions[TopicPartition(topic.name, number)] = None
                if self._pace.is_over():
                    yield
            if self._pace.is_over():
                yield
        if self._pace.is_over():
            yield
        return None if partitions is None else list(partitions)

    def _refusal(self, topic_name: str, index: int) -> ErrorCode:
        """Why a partition cannot be in a transaction: the client may not write to the topic, which of internal ones
        nobody may (v0-v3), or there is no such partition. NONE: it can.
        """
        topics = self._call.cluster.topics
        topic = topics.get(topic_name)
        is_internal = topic is not None and topic.is_internal and self._call.version < _FIRST_OF_BROKERS
        if is_internal or topic_name in self._denied:
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED
        if topics.partition(topic_name, index) is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return ErrorCode.NONE

    def _begin(self, index: int, transaction: AddPartitionsToTxnTransaction, partitions: list[TopicPartition]) -> None:
        """Add the partitions, or verify them; the outcome is there now or when it is stored."""
        call, transactional_id = self._call, transaction.transactional_id
        if not transactional_id:
            self._put(index, ErrorCode.INVALID_REQUEST)
            return
        try:
            shard = call.transaction_shard(transactional_id)
        except KafkaError as error:
            self._put(index, error.code)
            return
        producer = Producer(transaction.producer_id, transaction.producer_epoch)
        if transaction.verify_only:
            self._put(index, shard.verify_partitions(transactional_id, producer, partitions))
            return
        shard.add_partitions(
            transactional_id,
            producer,
            partitions,
            lambda code: self._put(index, as_sent(call, code, _FIRST_FENCED)),
            call.now,
            is_tv2=call.version >= _FIRST_OF_BROKERS,
        )

    def _put(self, index: int, outcome: _Outcome) -> None:
        self._outcomes[index] = outcome
        self._missing -= 1
        if self._are_begun and not self._missing:
            response = self._call.work(self._response())
            if response is not None:
                self._call.reply(response)

    def _response(self) -> Generator[None, None, AddPartitionsToTxnResponse]:
        for topics, outcome in zip(self._topics, self._outcomes, strict=True):
            if outcome is not ErrorCode.NONE:
                yield from self._write(topics, outcome)
        if self._call.version < _FIRST_OF_BROKERS:
            return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=self._topics[0])
        results = [
            AddPartitionsToTxnResult(transactional_id=transaction.transactional_id, topic_results=topics)
            for transaction, topics in zip(self._transactions, self._topics, strict=True)
        ]
        return AddPartitionsToTxnResponse(results_by_transaction=results)

    def _write(self, topics: list[AddPartitionsToTxnTopicResult], outcome: _Outcome) -> Generator[None, None, None]:
        """Put the outcome into the rows that have no code yet."""
        for topic in topics:
            for row in topic.results_by_partition:
                if not row.partition_error_code:
                    row.partition_error_code = _code_in(outcome, topic.name, row.partition_index)
                if self._pace.is_over():
                    yield
            if self._pace.is_over():
                yield


def _code_in(outcome: _Outcome, topic_name: str, index: int) -> ErrorCode:
    return outcome if isinstance(outcome, ErrorCode) else outcome[TopicPartition(topic_name, index)]


def _row(index: int, code: ErrorCode) -> AddPartitionsToTxnPartitionResult:
    return AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=code)
