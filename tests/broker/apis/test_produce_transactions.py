"""Tests of Produce in transactions: what the transaction coordinator is asked, and what its answers become."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.apis import produce
from fakebroker.broker.apis.call import Call
from fakebroker.broker.apis.produce_transactions import ProducedTransaction
from fakebroker.broker.core.logs.appends import AppendError
from fakebroker.broker.core.topics import TRANSACTION_STATE
from fakebroker.broker.core.transactions.producer import Producer
from fakebroker.broker.core.transactions.shard import TransactionShard
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.offsets_topic import TopicPartition
from fakebroker.protocol.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)
from tests.support.log_apis import LogApis, batch
from tests.support.time import T0

Make = Callable[..., Call]
HERE, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)


def replies(call: Call) -> list[Any]:
    """What was answered after the request was parked."""
    connection: Any = call.connection
    found: list[Any] = connection.replies
    return found


class Transactions(LogApis):
    """One producer of the transactional id "x"; the coordinator is the broker's own."""

    def __init__(self, make_call: Make, **options: Any) -> None:
        super().__init__(make_call, **options)
        self.producer = Producer(-1, -1)
        self.code = ErrorCode.NONE
        self.shard.init_producer_id("x", 60_000, None, self.take, self.now)

    @property
    def shard(self) -> TransactionShard:
        return self.cluster.nodes[1].transactions.shard("x", self.now)

    def take(self, code: ErrorCode, producer: Producer) -> None:
        self.code = code
        if not code:
            self.producer = producer

    def add(self, *partitions: TopicPartition) -> None:
        codes: list[ErrorCode] = []
        self.shard.add_partitions("x", self.producer, partitions, codes.append, self.now, is_tv2=False)
        assert codes == [ErrorCode.NONE]

    def end(self, *, commit: bool = True, is_tv2: bool = False) -> None:
        """Answered; the markers follow with `wait`."""
        self.shard.end("x", self.producer, commit=commit, is_tv2=is_tv2, answer=self.take, now=self.now)

    def wait(self, for_ms: int = 0) -> None:
        target = self.now.plus(for_ms)
        for at, action in self.cluster.timers.pop_due(self.now, target):
            action(at)
        self.now = target

    def batch(self, sequence: int = 0, producer: Producer | None = None, **fields: Any) -> bytes:
        producer_id, epoch = producer or self.producer
        own = {"producer_id": producer_id, "producer_epoch": epoch, "base_sequence": sequence, "transactional": True}
        return batch(T0, **{**own, **fields})

    def begin(
        self, *records: bytes, version: int = 11, transactional_id: str = "x", acks: int = -1
    ) -> tuple[Call, list[PartitionProduceResponse] | None]:
        """Send a batch for each partition from the first on; the answers are None while it is parked."""
        data = [PartitionProduceData(index=index, records=each) for index, each in enumerate(records)]
        topic_id = self.topic.id if version >= 13 else bytes(16)
        topic = TopicProduceData(name="t", topic_id=topic_id, partition_data=data)
        request = ProduceRequest(transactional_id=transactional_id, acks=acks, timeout_ms=1000, topic_data=[topic])
        call, response = self.call(produce, request, version)
        return call, None if response is None else response.responses[0].partition_responses

    def send(self, *records: bytes, **fields: Any) -> list[tuple[int, int, int]]:
        """Error, base offset and log start of each answer, which is there at once."""
        _, answers = self.begin(*records, **fields)
        assert answers is not None
        return [(each.error_code, each.base_offset, each.log_start_offset) for each in answers]


@pytest.mark.rules("TX-6")
@pytest.mark.parametrize(
    ("version", "code"),
    [(3, ErrorCode.INVALID_TXN_STATE), (10, ErrorCode.INVALID_TXN_STATE), (11, ErrorCode.TRANSACTION_ABORTABLE)],
)
def test_a_partition_that_was_not_added(make_call: Make, version: int, code: int) -> None:
    """Before v12 it is refused, with a text beside 48; plain batches pass beside a transactional id."""
    lab = Transactions(make_call)
    lab.add(OTHER)
    _, answers = lab.begin(lab.batch(), version=version)

    assert answers is not None
    assert (answers[0].error_code, answers[0].base_offset) == (code, -1)
    assert (answers[0].error_message is not None) == (code == ErrorCode.INVALID_TXN_STATE and version >= 8)
    assert lab.send(batch(T0), version=version) == [(0, 0, 0 if version >= 5 else -1)]


@pytest.mark.rules("TX-6", "TX-1")
def test_batches_of_an_open_transaction_need_no_question(make_call: Make) -> None:
    """The coordinator is asked for the first one on a partition only: it is not even there for the next."""
    lab = Transactions(make_call)
    lab.add(HERE, OTHER)
    assert lab.send(lab.batch(), lab.batch()) == [(0, 0, 0), (0, 0, 0)]
    lab.cluster.topics.internal(TRANSACTION_STATE).partitions[lab.shard.partition.index].lead(-1, lab.now)

    assert lab.send(lab.batch(1)) == [(0, 1, 0)]
    lab.producer = Producer(lab.producer.id, 1)
    _, answers = lab.begin(lab.batch())
    assert answers is not None
    assert answers[0].error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert answers[0].error_message is not None


@pytest.mark.rules("TX-7")
@pytest.mark.parametrize("version", [11, 12, 13])
def test_wrong_producers(make_call: Make, version: int) -> None:
    """Another epoch is 47, another producer id or transactional id 49, and nothing is appended."""
    lab = Transactions(make_call)
    lab.add(HERE)
    for wrong, code in (
        (lab.producer._replace(epoch=1), ErrorCode.INVALID_PRODUCER_EPOCH),
        (lab.producer._replace(id=lab.producer.id + 1), ErrorCode.INVALID_PRODUCER_ID_MAPPING),
    ):
        assert lab.send(lab.batch(producer=wrong), version=version) == [(code, -1, -1)]
    assert lab.send(lab.batch(), version=version, transactional_id="y") == [
        (ErrorCode.INVALID_PRODUCER_ID_MAPPING, -1, -1)
    ]
    assert lab.log.log_end_offset == 0


@pytest.mark.rules("TX-11", "TX-10")
def test_tv2_adds_the_partition(make_call: Make) -> None:
    """From v12 on the first batch of a transaction adds its partition, and the transaction begins with it."""
    lab = Transactions(make_call)
    assert lab.send(lab.batch(), lab.batch(), version=12) == [(0, 0, 0), (0, 0, 0)]
    transaction = lab.shard.transaction("x")
    assert transaction is not None
    assert list(transaction.partitions) == [HERE, OTHER]
    lab.end(commit=False, is_tv2=True)
    lab.wait()

    assert (lab.producer.epoch, lab.log.last_stable_offset) == (1, 2)
    assert lab.send(lab.batch(1), version=12) == [(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1, 0)]
    assert lab.send(lab.batch(0), version=12) == [(0, 2, 0)]


@pytest.mark.rules("ID-7")
@pytest.mark.parametrize(
    ("version", "outcome"), [(11, (0, 0, 0)), (12, (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1, 0))]
)
def test_the_first_sequence(make_call: Make, version: int, outcome: tuple[int, int, int]) -> None:
    """An unknown producer may begin with any sequence, but under TV2 with 0 only."""
    lab = Transactions(make_call)
    lab.add(HERE)

    assert lab.send(lab.batch(7), version=version) == [outcome]


@pytest.mark.rules("ID-12", "TX-3")
def test_the_next_transaction_of_tv1_continues_the_sequence(make_call: Make) -> None:
    """Its epoch is the same, so is the sequence; the partition has to be added again."""
    lab = Transactions(make_call)
    lab.add(HERE)
    lab.send(lab.batch(0))
    lab.end()
    lab.wait()
    assert lab.send(lab.batch(1)) == [(ErrorCode.TRANSACTION_ABORTABLE, -1, -1)]
    lab.add(HERE)

    assert lab.send(lab.batch(2)) == [(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1, 0)]
    assert lab.send(lab.batch(1)) == [(0, 2, 0)]


@pytest.mark.rules("ID-5", "TX-6")
def test_no_batch_overtakes_another_that_was_asked_for(make_call: Make) -> None:
    """A first batch that was refused or a repetition is remembered until the transaction has records, as in 4.3.1."""
    lab = Transactions(make_call)
    lab.add(HERE)
    lab.send(lab.batch(0))
    lab.end()
    lab.wait()
    lab.add(HERE)

    assert lab.send(lab.batch(0)) == [(0, 0, 0)], "a repetition"
    assert lab.send(lab.batch(1)) == [(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1, 0)]
    lab.end()
    lab.wait()
    lab.add(HERE)
    assert lab.send(lab.batch(1)) == [(0, 3, 0)]


@pytest.mark.rules("TX-13", "TX-6")
@pytest.mark.parametrize(
    ("version", "code"), [(11, ErrorCode.NOT_ENOUGH_REPLICAS), (12, ErrorCode.CONCURRENT_TRANSACTIONS)]
)
def test_a_transaction_that_is_completing(make_call: Make, version: int, code: int) -> None:
    """v11 is answered 19 at once; for v12 the broker tries again for 100 ms, then it is 51."""
    lab = Transactions(make_call, settings={"fakebroker.transaction.markers.delay.ms": 1000})
    lab.add(HERE)
    lab.end(is_tv2=version >= 12)
    call, answers = lab.begin(lab.batch(), version=version)
    assert (answers is None) == (version == 12)
    if answers is None:
        lab.wait(99)
        assert replies(call) == []
        lab.wait(1)
        (response,) = replies(call)
        answers = response.responses[0].partition_responses

    assert [(each.error_code, each.log_start_offset) for each in answers] == [(code, -1)]


@pytest.mark.rules("TX-13", "TX-11")
def test_a_producer_of_tv2_does_not_wait_for_the_markers(make_call: Make) -> None:
    """Its next transaction begins as soon as the one before is complete, inside the broker's tries."""
    lab = Transactions(make_call, settings={"fakebroker.transaction.markers.delay.ms": 50})
    lab.send(lab.batch(), version=12)
    lab.end(is_tv2=True)
    call, answers = lab.begin(lab.batch(), version=12)
    assert answers is None
    lab.wait(60)

    (response,) = replies(call)
    (answer,) = response.responses[0].partition_responses
    assert (answer.error_code, answer.base_offset) == (0, 2)
    assert lab.log.last_stable_offset == 2


@pytest.mark.rules("TX-6")
def test_a_marker_overtakes_a_verified_batch(make_call: Make) -> None:
    """What the coordinator said yes to is not appended once the transaction has ended, in whatever step: 48."""
    lab = Transactions(make_call)
    lab.add(HERE, OTHER)
    lab.send(lab.batch())
    call = make_call(lab.cluster, 11, now=lab.now)
    batches = [(lab.topic.partitions[0], lab.batch(1)), (lab.topic.partitions[1], lab.batch())]
    transaction = ProducedTransaction(call, "x", batches)
    transaction.ask(lambda: None)
    for partition, _ in batches:
        transaction.check(partition)
    lab.end()
    lab.wait()

    for partition, _ in batches:
        assert transaction.error_of(partition) is None
        with pytest.raises(AppendError, match="has ended in the meantime"):
            transaction.check(partition)


@pytest.mark.rules("TX-6")
def test_verification_can_be_switched_off(make_call: Make) -> None:
    """With transaction.partition.verification.enable=false nobody is asked, before v12."""
    lab = Transactions(make_call, settings={"transaction.partition.verification.enable": "false"})

    assert lab.send(lab.batch()) == [(0, 0, 0)]
    assert lab.send(lab.batch(producer=lab.producer._replace(epoch=7)), version=12) == [
        (ErrorCode.INVALID_PRODUCER_EPOCH, -1, -1)
    ]


def test_two_producers_in_one_request(make_call: Make) -> None:
    """All of it is refused, as 4.3.1 does."""
    lab = Transactions(make_call)
    lab.add(HERE, OTHER)

    other = lab.producer._replace(epoch=1)
    assert lab.send(lab.batch(), lab.batch(producer=other)) == [(ErrorCode.INVALID_PRODUCER_ID_MAPPING, -1, -1)] * 2


@pytest.mark.rules("PD-15")
def test_a_transactional_batch_without_a_producer(make_call: Make) -> None:
    """It belongs to no transaction, and is appended."""
    lab = Transactions(make_call)

    assert lab.send(lab.batch(-1, producer=Producer(-1, -1))) == [(0, 0, 0)]
    assert lab.log.last_stable_offset == 1


@pytest.mark.rules("TX-6", "TX-7")
@pytest.mark.parametrize(
    ("as_release", "answered"),
    [("4.3", (ErrorCode.INVALID_PRODUCER_EPOCH, -1, -1)), ("3.9", (ErrorCode.TRANSACTION_ABORTABLE, -1, -1))],
)
def test_a_producer_that_wrote_with_a_higher_epoch(make_call: Make, as_release: str, answered: tuple[int, ...]) -> None:
    """4.3 refuses the older epoch without asking, and adds nothing; 3.9 asks first."""
    lab = Transactions(make_call, as_release=as_release)
    later = lab.producer._replace(epoch=3)
    assert lab.send(lab.batch(producer=later, transactional=False)) == [(0, 0, 0)]

    assert lab.send(lab.batch(), version=11) == [answered]
    if as_release == "4.3":
        assert lab.send(lab.batch(), version=12) == [answered]
    known = lab.shard.transaction("x")
    assert known is not None
    assert not known.partitions


@pytest.mark.rules("ID-10")
def test_a_plain_batch_inside_the_transaction(make_call: Make) -> None:
    """Its own producer may not write one before the end."""
    lab = Transactions(make_call)
    lab.add(HERE)
    lab.send(lab.batch())

    assert lab.send(lab.batch(1, transactional=False)) == [(ErrorCode.INVALID_TXN_STATE, -1, 0)]
    assert lab.send(lab.batch(1)) == [(0, 1, 0)]


@pytest.mark.rules("PD-2", "TX-6")
@pytest.mark.parametrize("version", [11, 12])
def test_the_layout_of_an_open_transaction(make_call: Make, version: int) -> None:
    """Batches like the one before are appended without the handler as long as their transaction is open."""
    lab = Transactions(make_call)
    lab.add(HERE)
    data = [PartitionProduceData(index=0, records=lab.batch())]
    request = ProduceRequest(
        transactional_id="x", acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(name="t", partition_data=data)]
    )
    call, response = lab.call(produce, request, version)
    again = produce.repeat(call, request, response)
    assert again is not None
    assert again(call, (lab.batch(1),)) is not None
    assert again(call, (batch(T0),)) is not None
    assert again(call, (b"",)) is None
    assert again(call, (lab.batch(2, producer=lab.producer._replace(epoch=1)),)) is None
    assert lab.log.log_end_offset == 3
    lab.end(is_tv2=version >= 12)
    lab.wait()

    assert again(call, (lab.batch(0 if version >= 12 else 2),)) is None
