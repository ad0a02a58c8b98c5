"""Transactions per second, of ten records each: producers that wait for every answer, and the requests they send."""

import selectors
import time
import uuid
from collections.abc import Generator
from typing import Any

from bench import requests as r
from bench.driver import Address, ask, connect, read_frame
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.schema import Message
from fakebroker.protocol.wire.frame import decode_response
from fakebroker.protocol.wire.messages.end_txn import EndTxnRequest
from fakebroker.protocol.wire.messages.find_coordinator import FindCoordinatorRequest
from fakebroker.protocol.wire.messages.init_producer_id import InitProducerIdRequest
from fakebroker.protocol.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

RECORDS = 10
VALUE = b"v" * 100
PRODUCERS = 8
SECONDS = 3.0
NOT_YET = {
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
}

# The first versions of transaction protocol 2 (KIP-890): Produce adds the partition, EndTxn raises the epoch.
FIND_COORDINATOR, INIT_PRODUCER_ID, PRODUCE, END_TXN = 3, 5, 12, 5


def find_coordinator(transactional_id: str) -> FindCoordinatorRequest:
    """Where a transactional id is coordinated; the first question makes the internal topic."""
    return FindCoordinatorRequest(key=transactional_id, key_type=1)


def init_producer_id(transactional_id: str) -> InitProducerIdRequest:
    """The beginning of a producer."""
    return InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=60_000)


def produce(topic: str, transactional_id: str, producer_id: int, epoch: int, partition: int = 0) -> ProduceRequest:
    """The records of one transaction, in one batch."""
    records = [Record(n, r.FIRST_MS + n, None, VALUE) for n in range(RECORDS)]
    data = build_batch(
        records, leader_epoch=-1, transactional=True, producer_id=producer_id, producer_epoch=epoch, base_sequence=0
    )
    entry = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=partition, records=data)])
    return ProduceRequest(transactional_id=transactional_id, acks=-1, timeout_ms=5000, topic_data=[entry])


def commit(transactional_id: str, producer_id: int, epoch: int) -> EndTxnRequest:
    """The end of one transaction."""
    return EndTxnRequest(
        transactional_id=transactional_id, producer_id=producer_id, producer_epoch=epoch, committed=True
    )


class Producer:
    """One transactional producer on a connection of its own, which has one request in flight."""

    def __init__(self, address: Address, topic: str, partition: int) -> None:
        self.topic, self.partition, self.name = topic, partition, uuid.uuid4().hex
        self.sock = connect(address)
        self.transactions = 0
        self._await_coordinator()
        while (answer := ask(self.sock, init_producer_id(self.name), INIT_PRODUCER_ID)).error_code in NOT_YET:
            time.sleep(0.05)
        assert answer.error_code == 0, answer
        self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
        self._steps = self._run()
        self._send(next(self._steps))

    def take_answer(self) -> None:
        """Read an answer, and send what comes then."""
        answer = decode_response(self._api_key, self._version, read_frame(self.sock))[1]
        self._send(self._steps.send(answer))

    def _run(self) -> Generator[tuple[Message, int], Any, None]:
        while True:
            request = produce(self.topic, self.name, self.producer_id, self.epoch, self.partition)
            while True:
                answer = yield request, PRODUCE
                code = answer.responses[0].partition_responses[0].error_code
                if code not in NOT_YET:
                    break
            assert code == 0, answer
            answer = yield commit(self.name, self.producer_id, self.epoch), END_TXN
            assert answer.error_code == 0, answer
            self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
            self.transactions += 1

    def _send(self, step: tuple[Message, int]) -> None:
        request, version = step
        self._api_key, self._version = request.api_key, version
        self.sock.sendall(r.frame(request, version))

    def _await_coordinator(self) -> None:
        while ask(self.sock, find_coordinator(self.name), FIND_COORDINATOR).error_code:
            time.sleep(0.05)


def transactions(bootstrap: str) -> float:
    """Transactions per second of 8 producers, each with its own partition, that wait for each answer."""
    host, _, port = bootstrap.partition(":")
    address = (host, int(port))
    topic = "bench-" + uuid.uuid4().hex
    with connect(address) as sock:
        ask(sock, r.create({topic: PRODUCERS}), r.CREATE_TOPICS)
    producers = [Producer(address, topic, partition) for partition in range(PRODUCERS)]
    selector = selectors.DefaultSelector()
    for producer in producers:
        selector.register(producer.sock, selectors.EVENT_READ, producer)
    began = time.perf_counter()
    while (elapsed := time.perf_counter() - began) < SECONDS:
        for key, _ in selector.select(0.1):
            key.data.take_answer()
    for producer in producers:
        producer.sock.close()
    return sum(producer.transactions for producer in producers) / elapsed


def confluent_transactions(bootstrap: str) -> float:
    """Transactions per second of one producer of confluent-kafka."""
    import confluent_kafka

    topic = "bench-" + uuid.uuid4().hex
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "transactional.id": topic})
    producer.init_transactions(30)
    count, began = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - began) < SECONDS:
        producer.begin_transaction()
        for _ in range(RECORDS):
            producer.produce(topic, VALUE, partition=0)
        producer.commit_transaction(30)
        count += 1
    return count / elapsed
