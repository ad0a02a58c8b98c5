"""What a scripted client does with records: produce, fetch, and ask for offsets by time."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from fakebroker.client.committed_records import committed_records
from fakebroker.client.requesting import NEWEST_SPOKEN, Flow, Requesting
from fakebroker.protocol.arguments.checks import check_whole
from fakebroker.protocol.errors import ErrorCode, FakebrokerError, InvalidArgument, nearest
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.batch_format import NO_PRODUCER_ID
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.schema import ZERO_UUID
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.messages.fetch import FetchRequest, FetchTopic
from fakebroker.protocol.wire.messages.init_producer_id import InitProducerIdRequest
from fakebroker.protocol.wire.messages.list_offsets import ListOffsetsRequest, ListOffsetsTopic
from fakebroker.protocol.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from fakebroker.protocol.wire.registry import newest_of_protocol_1

Text = bytes | str | None

# What ListOffsets has instead of a time (KIP-79, KIP-734).
SPECIAL_TIMES = {"latest": -1, "earliest": -2, "max_timestamp": -3}
MAX_SEQUENCE = 2**31 - 1
_OF_TRANSACTIONS = (ApiKey.PRODUCE, ApiKey.TXN_OFFSET_COMMIT, ApiKey.END_TXN, ApiKey.INIT_PRODUCER_ID)


class ProducedRecord(NamedTuple):
    """A record to produce. Texts are sent as UTF-8; `timestamp_ms` None: that of the batch."""

    key: Text = None
    value: Text = None
    headers: Mapping[str, Text] = {}
    timestamp_ms: int | None = None


class RecordSteps(Requesting):
    """Produce, Fetch, ListOffsets, InitProducerId and OffsetForLeaderEpoch."""

    def __init__(self, client_id: str | None = "consumer", versions: Mapping[str, int] | None = None) -> None:
        super().__init__(client_id, versions)
        self.transactional_id: str | None = None
        self.producer_id, self.producer_epoch = NO_PRODUCER_ID, -1
        self._sequences: dict[tuple[str, int], int] = {}  # of the next batch, by partition

    def produce(
        self,
        topic: str,
        partition: int,
        records: Sequence[ProducedRecord | tuple[Text, Text] | Text],
        timestamp_ms: int = -1,
        *,
        acks: int = -1,
        idempotent: bool = False,
        transactional: bool = False,
        base_sequence: int | None = None,
        producer_epoch: int | None = None,
        timeout_ms: int = 30_000,
    ) -> Flow[Any]:
        """Append records to a partition, as one batch: [(b"key", b"value"), (None, b"value")], or values alone.

        With `idempotent` the batch has the producer id of the last `init_producer_id`, its epoch unless
        `producer_epoch` is given, and the next sequence of this client for the partition unless `base_sequence` is
        given; with `transactional` it also belongs to the transaction of the client's transactional id. With `acks` 0
        there is no answer, and this returns None. Raises InvalidArgument for invalid records.
        """
        rows = rows_of(records, timestamp_ms)
        check_whole("acks", acks)
        transactional_id, producer_id, epoch, sequence = None, NO_PRODUCER_ID, -1, -1
        if transactional:
            transactional_id, producer_id, epoch = self._transactional_producer(producer_epoch)
        elif idempotent:
            producer_id, epoch = self._producer(producer_epoch)
        if producer_id != NO_PRODUCER_ID:
            sequence = self._sequence((topic, partition), len(rows), base_sequence)
        batch = build_batch(
            rows,
            leader_epoch=-1,
            transactional=transactional,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
        )
        data = PartitionProduceData(index=partition, records=batch)
        request = ProduceRequest(acks=acks, timeout_ms=timeout_ms, transactional_id=transactional_id)
        request.topic_data = [TopicProduceData(name=topic, partition_data=[data])]
        return self.ask(request) if acks else self._produce_unanswered(request)

    def fetch(
        self,
        topic: str,
        partition: int,
        offset: int,
        max_wait_ms: int = 0,
        *,
        min_bytes: int = 1,
        max_bytes: int = 1 << 20,
        isolation_level: int = 0,
    ) -> Flow[list[Record]]:
        """The records of a partition from `offset` on; empty when there are none within `max_wait_ms`.

        With `isolation_level` 1 only committed ones (read_committed); transaction markers are left out. Raises
        FakebrokerError when the broker answers with an error.
        """
        row = (partition, -1, offset, -1, -1, max_bytes, ZERO_UUID, 2**63 - 1)
        request = FetchRequest(max_wait_ms=max_wait_ms, min_bytes=min_bytes, isolation_level=isolation_level)
        request.topics = [FetchTopic(topic=topic, partitions=[row])]
        answer = yield from self.ask(request)
        data = answer.responses[0].partitions[0]
        if data.error_code != ErrorCode.NONE:
            raise FakebrokerError(f"fetch of {topic}-{partition} at {offset}: {ErrorCode(data.error_code).name}")
        records = committed_records(data.records or b"", data.aborted_transactions or ())
        return [record for record in records if record.offset >= offset]

    def list_offsets(
        self, topic: str, partition: int, at: str | int = "latest", *, isolation_level: int = 0
    ) -> Flow[Any]:
        """The ListOffsets answer: the first offset with a timestamp of `at` or later.

        `at` is a time in milliseconds since the epoch or as ISO 8601 text with a time zone, or "earliest", "latest"
        (the end) or "max_timestamp". Raises InvalidArgument for anything else.
        """
        request = ListOffsetsRequest(replica_id=-1, isolation_level=isolation_level)
        request.topics = [ListOffsetsTopic(name=topic, partitions=[(partition, -1, _time_of(at), 1)])]
        return self.ask(request)

    def offset_for_leader_epoch(self, topic: str, partition: int, leader_epoch: int) -> Flow[Any]:
        """The OffsetForLeaderEpoch answer: the end offset of a leader epoch of a partition (KIP-101)."""
        partitions = [{"partition": partition, "leader_epoch": leader_epoch}]
        return self.request("OffsetForLeaderEpoch", replica_id=-1, topics=[{"topic": topic, "partitions": partitions}])

    def init_producer_id(
        self,
        transactional_id: str | None = None,
        *,
        transaction_timeout_ms: int = 60_000,
        producer_id: int = -1,
        producer_epoch: int = -1,
        transaction_protocol: int = 2,
    ) -> Flow[Any]:
        """Get a producer id, which `produce` then uses, with sequences from 0. Returns the answer.

        With a transactional id this client becomes its producer; other producers of that id are fenced. It uses
        transaction protocol 2 (KIP-890) if the broker supports it, unless `transaction_protocol` is 1. Raises
        InvalidArgument for any other protocol.
        """
        self._speak_transaction_protocol(transaction_protocol)
        request = InitProducerIdRequest(
            transactional_id=transactional_id,
            transaction_timeout_ms=transaction_timeout_ms,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
        )
        answer = yield from self.ask(request)
        if answer.error_code == ErrorCode.NONE:
            self.transactional_id = transactional_id
            self._use_producer(answer.producer_id, answer.producer_epoch)
        return answer

    def _speak_transaction_protocol(self, number: int) -> None:
        """Choose the versions of requests that make a client one of a transaction protocol (TX-10)."""
        if number not in (1, 2):
            text = f"transaction_protocol is {number!r}; it must be 1 or 2"
            raise InvalidArgument("transaction_protocol", number, text)
        self.newest = dict(NEWEST_SPOKEN)
        if number == 1:
            self.newest |= {key: newest_of_protocol_1(key) for key in _OF_TRANSACTIONS}

    def _use_producer(self, producer_id: int, producer_epoch: int) -> None:
        """Go on as this producer; another id or epoch begins with sequence 0."""
        self.producer_id, self.producer_epoch = producer_id, producer_epoch
        self._sequences.clear()

    def _producer(self, producer_epoch: int | None) -> tuple[int, int]:
        if self.producer_id == NO_PRODUCER_ID:
            raise FakebrokerError("this client has no producer id: take the step init_producer_id first")
        return self.producer_id, self.producer_epoch if producer_epoch is None else producer_epoch

    def _transactional_producer(self, producer_epoch: int | None) -> tuple[str, int, int]:
        """The transactional id with the producer's id and epoch."""
        if self.transactional_id is None:
            text = "this client has no transactional id: take the step init_producer_id with a transactional id first"
            raise FakebrokerError(text)
        return self.transactional_id, *self._producer(producer_epoch)

    def _sequence(self, partition: tuple[str, int], count: int, base_sequence: int | None) -> int:
        """The first sequence of a batch. One that is given leaves the client's count as it is."""
        if base_sequence is not None:
            return base_sequence
        sequence = self._sequences.get(partition, 0)
        self._sequences[partition] = (sequence + count) & MAX_SEQUENCE
        return sequence

    def _produce_unanswered(self, request: ProduceRequest) -> Flow[None]:
        version = yield from self.version_of(request)
        self.connection.send(request, version, expects_answer=False)


def rows_of(records: object, timestamp_ms: int) -> list[Record]:
    """The records of a batch. Raises InvalidArgument for what are none."""
    if isinstance(records, str | bytes) or not isinstance(records, Sequence) or not records:
        raise InvalidArgument("records", records, f"records={records!r} is not a list of keys with values")
    return [_row(index, each, timestamp_ms, records) for index, each in enumerate(records)]


def _row(index: int, record: Any, timestamp_ms: int, records: object) -> Record:
    match record:
        case ProducedRecord():
            pass
        case (bytes() | str() | None, bytes() | str() | None):
            record = ProducedRecord(*record)
        case bytes() | str() | None:
            record = ProducedRecord(value=record)
        case _:
            text = f'records: {record!r} is not a key and a value (bytes, strings or None), such as (b"key", b"value")'
            raise InvalidArgument("records", records, text)
    headers = [(name.encode(), _bytes(value)) for name, value in record.headers.items()]
    time_ms = timestamp_ms if record.timestamp_ms is None else record.timestamp_ms
    return Record(index, time_ms, _bytes(record.key), _bytes(record.value), headers)


def _bytes(text: Text) -> bytes | None:
    return text.encode() if isinstance(text, str) else text


def _time_of(at: object) -> int:
    """What stands for `at` in a request."""
    if isinstance(at, int) and not isinstance(at, bool):
        return at
    if not isinstance(at, str):
        raise InvalidArgument("at", at, f"at={at!r} is neither a time nor {', '.join(SPECIAL_TIMES)}")
    if at in SPECIAL_TIMES:
        return SPECIAL_TIMES[at]
    try:
        when = datetime.fromisoformat(at)
    except ValueError:
        raise InvalidArgument("at", at, f"at={at!r} is not a time; {nearest(at, SPECIAL_TIMES)}") from None
    if when.utcoffset() is None:
        raise InvalidArgument("at", at, f"at={at!r} has no time zone: add Z for UTC")
    return round(when.timestamp() * 1000)
