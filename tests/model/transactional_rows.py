"""Transactional producers of both protocols for the model of layouts: what they send, and what happens meanwhile.

A producer of the old protocol adds partitions and groups to its transaction by requests of their own, and produces by
versions up to 11; one of the new protocol leaves that to the broker (KIP-890). Some requests are wrong on purpose.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from hypothesis import strategies as st

from fakebroker.broker.core.topics import TRANSACTION_STATE
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from fakebroker.protocol.wire.messages.describe_producers import TopicRequest
from fakebroker.protocol.wire.messages.produce import PartitionProduceData, TopicProduceData
from fakebroker.protocol.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from fakebroker.protocol.wire.messages.write_txn_markers import WritableTxnMarker, WritableTxnMarkerTopic
from tests.model.twins import Twins
from tests.support.engine import SimEngine
from tests.support.time import T0

IDS = st.sampled_from("xxyyz")  # transactional ids; with two nodes some have their coordinator on the other one
TIMEOUT_MS = 10_000
OLD_PRODUCE, NEW_PRODUCE = st.sampled_from([3, 7, 9, 10, 11, 11, 11]), st.sampled_from([12, 12, 13, 13])
WRITES = st.sampled_from(["good"] * 8 + ["repeated", "gap", "stale", "plain", "others", "alike"])
ENDS = st.sampled_from([None, True, True, False])  # whether a row's transaction goes on, is committed or aborted
PROTOCOLS = st.sampled_from(["its own"] * 6 + ["new", "old"])
ROW = 7  # requests before what happens in the middle of a row
ADMIN = 2  # the connection of what is not in rows

TRANSACTION_EVENTS = st.one_of(
    st.tuples(st.just("initialize"), IDS, st.integers(0, 5), st.booleans()),
    st.tuples(st.just("end"), IDS, st.booleans(), st.integers(0, 5)),
    st.tuples(st.just("end"), IDS, st.booleans(), st.sampled_from([3, 4, 5])),
    st.tuples(st.just("add"), IDS, st.sampled_from("tu"), st.integers(0, 2), st.integers(0, 5)),
    st.tuples(st.just("marker"), IDS, st.sampled_from("tu"), st.integers(0, 2), st.integers(0, 2), st.booleans()),
    st.tuples(st.just("marker"), st.none(), st.sampled_from("tu"), st.just(0), st.integers(0, 2), st.booleans()),
    st.tuples(st.just("describe"), IDS),
    st.tuples(st.just("reload_transactions"), st.sampled_from([None, 0, 500])),
    st.tuples(st.just("move_wall"), st.sampled_from([5_000, 11_000, 25_000, 8 * 86_400_000, -3_000])),
    st.tuples(st.just("lead"), st.just(TRANSACTION_STATE), st.sampled_from([1, 2, -1])),
)
"""What may happen between two requests of a row, as the model's other events."""


def is_of_new_protocol(transactional_id: str, speaks: str) -> bool:
    """Whether a producer has the broker add its partitions. By itself "x" does, but others may go by its name."""
    return transactional_id == "x" if speaks == "its own" else speaks == "new"


class TransactionalRows:
    """A part of the machine: what its transactional producers do. The rest of the machine has what it stands on."""

    twins: Twins
    numbers: Iterator[int]

    def __init__(self) -> None:
        super().__init__()
        self.producers: dict[str, tuple[int, int]] = {}  # id and epoch by transactional id, as last answered

    def _topic_id(self, name: str) -> bytes:
        raise NotImplementedError

    def _member(self, group: str, likely: str = "member") -> dict[str, Any]:
        raise NotImplementedError

    # Single requests

    def initialize(self, transactional_id: str, version: int, knows_itself: bool) -> None:
        """An instance starts; with `knows_itself` it is the one before, which goes on with the next epoch."""
        version = self.twins.served("InitProducerId", version)
        fields: dict[str, Any] = {"transactional_id": transactional_id, "transaction_timeout_ms": TIMEOUT_MS}
        if knows_itself and version >= 3:
            fields["producer_id"], fields["producer_epoch"] = self.producers.get(transactional_id, (-1, -1))
        self.twins.send(ADMIN, "InitProducerId", version, [fields])
        self._learn(transactional_id, "InitProducerId")

    def end(self, transactional_id: str, commit: bool, version: int) -> None:
        """The transaction of an id ends, if it has one; by version 5 its producer gets another epoch."""
        version = self.twins.served("EndTxn", version)
        self.twins.send(ADMIN, "EndTxn", version, [{**self._producer(transactional_id), "committed": commit}])
        if version >= 5:
            self._learn(transactional_id, "EndTxn")

    def add(self, transactional_id: str, topic: str, index: int, version: int) -> None:
        """A partition joins the transaction; by versions from 4 on it is asked whether it has, as brokers do."""
        version = self.twins.served("AddPartitionsToTxn", version)
        producer = self._producer(transactional_id)
        topics = [AddPartitionsToTxnTopic(name=topic, partitions=[index])]
        if version >= 4:
            asked = AddPartitionsToTxnTransaction(**producer, verify_only=index != 1, topics=topics)
            fields: dict[str, Any] = {"transactions": [asked]}
        else:
            fields = {f"v3_and_below_{name}": value for name, value in {**producer, "topics": topics}.items()}
        self.twins.send(ADMIN, "AddPartitionsToTxn", version, [fields])

    def marker(self, transactional_id: str | None, topic: str, index: int, version: int, commit: bool) -> None:
        """Somebody beside the coordinator writes a marker, of a producer that is known or of a strange one."""
        producer_id, epoch = self.producers.get(transactional_id or "", (4711, 3))
        marker = WritableTxnMarker(
            producer_id=producer_id,
            producer_epoch=epoch,
            transaction_result=commit,
            topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=[index, index + 1])],
            coordinator_epoch=next(self.numbers) % 3,
            transaction_version=2 if version == 2 else 0,
        )
        version = self.twins.served("WriteTxnMarkers", version)
        self.twins.send(ADMIN, "WriteTxnMarkers", version, [{"markers": [marker]}])

    def describe(self, transactional_id: str) -> None:
        """What the broker tells of transactions and producers."""
        self.twins.send(ADMIN, "DescribeTransactions", 0, [{"transactional_ids": [transactional_id, "unknown"]}])
        self.twins.send(ADMIN, "ListTransactions", 2, [{"duration_filter": 1000}])
        topics = [TopicRequest(name=name, partition_indexes=[0, 1, 2]) for name in "tu"]
        self.twins.send(ADMIN, "DescribeProducers", 0, [{"topics": topics}])

    def reload_transactions(self, load_ms: int | None) -> None:
        """The transactions are forgotten, and loaded again by the next request, now, or slowly."""

        def reload(broker: SimEngine, now: Instant) -> None:
            coordinator = broker.cluster.nodes[1].transactions
            for index in list(coordinator.shards):
                coordinator.unload(index, now)
                if load_ms is not None:
                    coordinator.load(index, now, load_ms)

        self.twins.do(reload)

    def move_wall(self, ms: int) -> None:
        """The time of day jumps: transactions that are overdue are aborted, ids that are old are forgotten."""
        self.twins.move_wall(ms)

    # Rows

    def transactional_batches(
        self, transactional_id: str, topic: str, index: int, rows: int, kind: str, acks: int, *, is_new: bool
    ) -> Iterator[dict[str, Any]]:
        """Requests of Produce in the transaction. In the middle the producer looks again where it is."""
        self._begin(transactional_id, is_new=is_new)
        if not is_new:
            self.add(transactional_id, topic, index, 3)
        sequence = 0
        for place, number in enumerate(islice(self.numbers, rows)):
            producer_id, epoch = self.producers.get(transactional_id, (-1, -1))
            if place in (0, ROW):
                sequence = self._next_sequence(topic, index, producer_id, epoch)
            is_odd = place % 4 == 3  # what is wrong is so in one of four
            count = 1 + number % 3
            size = 9 if kind == "alike" else number * 37 % 300
            batch = build_batch(
                [Record(n, T0 + number, b"k", b"v" * size) for n in range(count)],
                transactional=not (is_odd and kind == "plain"),
                producer_id=producer_id + (is_odd and kind == "others"),
                producer_epoch=max(-1, epoch - (is_odd and kind == "stale")),
                base_sequence=max(-1, sequence - (is_odd and kind == "repeated") + 7 * (is_odd and kind == "gap")),
            )  # fmt: skip
            sequence += 0 if is_odd and kind in ("gap", "stale", "others", "repeated") else count
            data = [PartitionProduceData(index=index, records=batch)]
            asked = TopicProduceData(name=topic, topic_id=self._topic_id(topic), partition_data=data)
            yield {"transactional_id": transactional_id, "acks": acks, "timeout_ms": 1000, "topic_data": [asked]}

    def transactional_commits(
        self, transactional_id: str, group: str, likely: str, rows: int, version: int
    ) -> Iterator[dict[str, Any]]:
        """Requests of TxnOffsetCommit in the transaction; by version 5 the group joins it by itself."""
        is_new = version >= 5
        self._begin(transactional_id, is_new=is_new)
        if not is_new:
            fields = {**self._producer(transactional_id), "group_id": group}
            self.twins.send(ADMIN, "AddOffsetsToTxn", self.twins.served("AddOffsetsToTxn", 3), [fields])
        for number in islice(self.numbers, rows):
            partition = TxnOffsetCommitRequestPartition(
                partition_index=number % 2, committed_offset=number, committed_metadata="m" * (number % 3)
            )
            topics = [TxnOffsetCommitRequestTopic(name="t", partitions=[partition])]
            member = self._member(group, likely) if version >= 3 else {"group_id": group}
            yield {**self._producer(transactional_id), **member, "topics": topics}

    # What a producer knows

    def _begin(self, transactional_id: str, *, is_new: bool) -> None:
        if transactional_id not in self.producers:
            self.twins.send(ADMIN, "FindCoordinator", 1, [{"key": transactional_id, "key_type": 1}])
            self.initialize(transactional_id, 5 if is_new else 1, knows_itself=False)

    def _producer(self, transactional_id: str) -> dict[str, Any]:
        producer_id, epoch = self.producers.get(transactional_id, (-1, -1))
        return {"transactional_id": transactional_id, "producer_id": producer_id, "producer_epoch": epoch}

    def _learn(self, transactional_id: str, api: str) -> None:
        for name, answer in self.twins.answers.values():
            if name == api and not answer.error_code:
                self.producers[transactional_id] = answer.producer_id, answer.producer_epoch
            elif name == api and answer.error_code in (
                ErrorCode.INVALID_PRODUCER_EPOCH,
                ErrorCode.INVALID_PRODUCER_ID_MAPPING,
                ErrorCode.PRODUCER_FENCED,
            ):  # fenced or forgotten: it has to start anew
                self.producers.pop(transactional_id, None)

    def _next_sequence(self, topic: str, index: int, producer_id: int, epoch: int) -> int:
        """Read in the first of the brokers."""
        found = self.twins.topic(topic)
        partition = found.partition(index) if found is not None else None
        state = partition.log.producers.get(producer_id) if partition is not None and partition.has_log else None
        return state.last_sequence + 1 if state is not None and state.epoch == epoch else 0
