"""Transaction coordinators without a network: requests with short names, time that the test passes."""

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from fakebroker.broker.core.events import TransactionTransition
from fakebroker.broker.core.topics import TRANSACTION_STATE, Partition
from fakebroker.broker.core.transactions.producer import Producer
from fakebroker.broker.core.transactions.shard import TransactionShard
from fakebroker.broker.core.transactions.transaction import Transaction
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.batch import parse_header, read_records
from fakebroker.protocol.records.markers import ControlRecordType, control_record_type, coordinator_epoch_of
from fakebroker.protocol.records.offsets_topic import TopicPartition
from fakebroker.protocol.records.transaction_log import TransactionEntry, read_transaction
from tests.support.cluster import make_cluster
from tests.support.parked import Parked
from tests.support.time import START, TimeDriven

A = TypeVar("A")
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT = "Empty", "Ongoing", "PrepareCommit", "PrepareAbort"
COMPLETE_COMMIT, COMPLETE_ABORT, DEAD = "CompleteCommit", "CompleteAbort", "Dead"
DELAY = {"fakebroker.transaction.markers.delay.ms": 1000}
"""With it a transaction stays in its Prepare state for a second."""


class ProducerAnswer(NamedTuple):
    """What InitProducerId and EndTxn answer."""

    code: ErrorCode
    producer: Producer


class Marker(NamedTuple):
    """A marker as it is in the log of a partition."""

    commit: bool
    producer: Producer
    coordinator_epoch: int


class Transactions(TimeDriven):
    """A cluster with a topic "t" of two partitions, and requests about transactional ids, "x" by default."""

    def __init__(
        self,
        settings: Mapping[str, object] | None = None,
        as_release: str = "4.3",
        node_ids: tuple[int, ...] = (1,),
        replication_factor: int = 1,
    ) -> None:
        self.cluster = make_cluster(settings, as_release, node_ids=node_ids)
        self.cluster.topics.create("t", 2, replication_factor)
        super().__init__(self.cluster.timers, START)

    # -- what there is -----------------------------------------------------------------------------------------------

    def state_partition(self, name: str = "x") -> Partition:
        """The partition of `__transaction_state` that holds the id."""
        return self.cluster.coordinator_partition(TRANSACTION_STATE, name)

    def shard(self, name: str = "x") -> TransactionShard:
        """The shard of the id on the node that leads it."""
        node = self.cluster.nodes[self.state_partition(name).leader]
        return node.transactions.shard(name, self.now)

    def transaction(self, name: str = "x") -> Transaction:
        found = self.shard(name).transaction(name)
        assert found is not None
        return found

    def state(self, name: str = "x") -> str:
        found = self.shard(name).transaction(name)
        return DEAD if found is None else found.state.kafka_name

    def entries(self, name: str = "x") -> list[TransactionEntry]:
        """What the log of the id's partition says, oldest first."""
        found = []
        for record in self.state_partition(name).log.records():
            entry = read_transaction(record.key, record.value)
            assert entry is not None
            found.append(entry)
        return found

    def markers(self, partition: TopicPartition = T0) -> list[Marker]:
        """The markers of a partition, oldest first."""
        found = self.cluster.topics.partition(*partition)
        assert found is not None
        markers = []
        for batch in found.log.batches():
            header = parse_header(batch)
            if header.is_control:
                (record,) = read_records(batch)
                commit = control_record_type(record.key) == ControlRecordType.COMMIT
                producer = Producer(header.producer_id, header.producer_epoch)
                markers.append(Marker(commit, producer, coordinator_epoch_of(record.value)))
        return markers

    def transitions(self) -> list[TransactionTransition]:
        """What the journal got to know since the last look."""
        events = [each for each in self.cluster.outbox if isinstance(each, TransactionTransition)]
        self.cluster.outbox.clear()
        return events

    # -- requests ----------------------------------------------------------------------------------------------------

    def send_init(
        self, expected: Producer | None = None, name: str = "x", timeout_ms: int = 60_000
    ) -> Parked[ProducerAnswer]:
        parked: Parked[ProducerAnswer] = Parked(lambda: self.ms)
        self.shard(name).init_producer_id(
            name, timeout_ms, expected, lambda code, got: parked(ProducerAnswer(code, got)), self.now
        )
        return parked

    def init(self, expected: Producer | None = None, name: str = "x", timeout_ms: int = 60_000) -> ProducerAnswer:
        return _answered(self.send_init(expected, name, timeout_ms))

    def producer(self, name: str = "x", timeout_ms: int = 60_000) -> Producer:
        """A new producer, whose request must succeed."""
        code, producer = self.init(None, name, timeout_ms)
        assert code is ErrorCode.NONE
        return producer

    def send_add(
        self, producer: Producer, *partitions: TopicPartition, is_tv2: bool = True, name: str = "x"
    ) -> Parked[ErrorCode]:
        parked: Parked[ErrorCode] = Parked(lambda: self.ms)
        self.shard(name).add_partitions(name, producer, partitions or (T0,), parked, self.now, is_tv2=is_tv2)
        return parked

    def add(self, producer: Producer, *partitions: TopicPartition, is_tv2: bool = True, name: str = "x") -> ErrorCode:
        return _answered(self.send_add(producer, *partitions, is_tv2=is_tv2, name=name))

    def verify(self, producer: Producer, *partitions: TopicPartition, name: str = "x") -> list[ErrorCode]:
        codes = self.shard(name).verify_partitions(name, producer, partitions)
        return [codes[each] for each in partitions]

    def send_end(
        self, producer: Producer, *, commit: bool = True, is_tv2: bool = True, name: str = "x"
    ) -> Parked[ProducerAnswer]:
        parked: Parked[ProducerAnswer] = Parked(lambda: self.ms)
        self.shard(name).end(
            name,
            producer,
            commit=commit,
            is_tv2=is_tv2,
            answer=lambda code, got: parked(ProducerAnswer(code, got)),
            now=self.now,
        )
        return parked

    def end(self, producer: Producer, *, commit: bool = True, is_tv2: bool = True, name: str = "x") -> ProducerAnswer:
        return _answered(self.send_end(producer, commit=commit, is_tv2=is_tv2, name=name))

    def bring_to(self, state: str, *, is_tv2: bool = True) -> Producer:
        """A new id in that state; returns the producer that it has then. Prepare states need DELAY."""
        producer = self.producer()
        if state == EMPTY:
            return producer
        assert self.add(producer, T0, T1, is_tv2=is_tv2) is ErrorCode.NONE
        if state == ONGOING:
            return producer
        commit = state in (PREPARE_COMMIT, COMPLETE_COMMIT)
        code, following = self.end(producer, commit=commit, is_tv2=is_tv2)
        assert code is ErrorCode.NONE
        if state in (COMPLETE_COMMIT, COMPLETE_ABORT):
            self.wait(2000)
        assert self.state() == state
        return following


def _answered(parked: Parked[A]) -> A:
    assert parked.answer is not None, "not answered yet"
    return parked.answer
