"""Topics as a page shows them: all on one screen, one with its partitions, and the records of a partition.

To look changes nothing: no log is made, and commits that wait to become batches go on waiting until a client reads the
records of `__consumer_offsets` itself.
"""

from collections.abc import Generator, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from fakebroker.broker.core.logs import list_offsets
from fakebroker.broker.core.logs.fetching import CONSUMER_REPLICA_ID
from fakebroker.protocol.errors import InvalidArgument, KafkaError
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.records.batch import BatchHeader, check_crc, parse_header, read_records_in_steps
from fakebroker.protocol.records.compression import CODEC_NAMES
from fakebroker.protocol.records.faults import InvalidRecord
from fakebroker.protocol.records.markers import ControlRecordType
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.schema.jsonable import uuid_to_text

if TYPE_CHECKING:
    from fakebroker.broker.core.logs.log import PartitionLog
    from fakebroker.broker.core.topics import Partition, Topic, Topics

MAX_BYTES: Final = 4096  # of a key, a value and the value of a header
RECORDS_PER_STEP: Final = 200

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UTF8_TAIL: Final = 3  # bytes that a cut may leave of a character


class TopicRow(NamedTuple):
    """One topic on one line.

    `records` are the offsets between start and end of its logs, `leaderless` the partitions without a leader.
    `size_bytes` is null for internal topics, whose records may not be bytes yet.
    """

    name: str
    partitions: int
    is_internal: bool
    records: int
    size_bytes: int | None
    cleanup_policy: str
    leaderless: int


class PartitionRow(NamedTuple):
    """One partition. `max_timestamp_ms` is the largest of its records, null without records and for internal topics."""

    partition: int
    leader: int
    leader_epoch: int
    replicas: list[int]
    in_sync: list[int]
    log_start_offset: int
    high_watermark: int
    last_stable_offset: int
    log_end_offset: int
    size_bytes: int | None
    open_transactions: int
    max_timestamp_ms: int | None


class TopicView(NamedTuple):
    """One topic with its partitions. `config` is what was set on the topic itself."""

    name: str
    topic_id: str
    is_internal: bool
    config: dict[str, str]
    partitions: list[PartitionRow]


class BrowsedRecord(NamedTuple):
    """One record as it is stored, or a marker of a transaction (`marker` is "COMMIT" or "ABORT").

    Key, value and values of headers are cut after 4096 bytes; `key_bytes` and `value_bytes` are their sizes, -1 for
    null. `batch_offset` is the first offset of its batch, `producer_id` -1 without one. `transaction` says what became
    of the transaction that it belongs to: "open", "committed" or "aborted". Of a batch that `is_corrupt` only its place
    is known.
    """

    partition: int
    offset: int
    timestamp_ms: int
    timestamp_type: str
    key: bytes | None
    value: bytes | None
    key_bytes: int
    value_bytes: int
    headers: tuple[tuple[str, bytes | None], ...]
    codec: str
    batch_offset: int
    producer_id: int
    producer_epoch: int
    sequence: int
    is_transactional: bool
    transaction: str | None
    marker: str | None
    is_corrupt: bool


class BrowsedRecords(NamedTuple):
    """Records of one partition in the order of their offsets; `next_offset` goes on after them, null at the end."""

    partition: int
    log_start_offset: int
    high_watermark: int
    log_end_offset: int
    next_offset: int | None
    records: list[BrowsedRecord]


class FoundByTime(NamedTuple):
    """What ListOffsets answers for a time: offset -1 if no record of the partition is of that time or later."""

    partition: int
    offset: int
    timestamp_ms: int
    leader_epoch: int
    record: BrowsedRecord | None


def topic_rows(topics: "Topics") -> list[TopicRow]:
    """A row for each topic, by name; internal ones last."""
    return sorted((_row(topic) for topic in topics), key=lambda row: (row.is_internal, row.name))


def _row(topic: "Topic") -> TopicRow:
    logs = [partition.log for partition in topic.partitions if partition.has_log]
    return TopicRow(
        topic.name,
        len(topic.partitions),
        topic.is_internal,
        sum(log.log_end_offset - log.log_start_offset for log in logs),
        None if topic.is_internal else sum(log.size_bytes for log in logs),
        topic.config.text("cleanup.policy"),
        sum(partition.leader < 0 for partition in topic.partitions),
    )


def topic_view(topic: "Topic") -> Generator[None, None, TopicView]:
    """A topic with its partitions, in steps."""
    partitions = []
    for partition in list(topic.partitions):
        partitions.append((yield from _partition_row(topic, partition)))
        yield
    return TopicView(topic.name, uuid_to_text(topic.id), topic.is_internal, dict(topic.config.own), partitions)


def _partition_row(topic: "Topic", partition: "Partition") -> Generator[None, None, PartitionRow]:
    log = partition.log if partition.has_log else None
    is_read = log is not None and not topic.is_internal
    max_timestamp_ms = (yield from _max_timestamp_ms(log)) if log is not None and is_read else None
    return PartitionRow(
        partition.index,
        partition.leader,
        partition.leader_epoch,
        list(partition.replicas),
        list(partition.isr),
        0 if log is None else log.log_start_offset,
        0 if log is None else log.high_watermark,
        0 if log is None else log.last_stable_offset,
        0 if log is None else log.log_end_offset,
        (log.size_bytes if log is not None else 0) if is_read or not topic.is_internal else None,
        0 if log is None else sum(each.current_transaction_offset is not None for each in log.producers),
        max_timestamp_ms,
    )


def _max_timestamp_ms(log: "PartitionLog") -> Generator[None, None, int | None]:
    try:
        found = yield from log.find_max_timestamp(log.log_end_offset)
    except KafkaError:  # a batch that was corrupted
        return None
    return None if found is None else found.timestamp_ms


# -- records -----------------------------------------------------------------------------------------------------------


def browse(partition: "Partition", offset: int, limit: int) -> Generator[None, None, BrowsedRecords]:
    """At most `limit` records from `offset` on, with markers, in steps; a negative offset counts from the end."""
    if not partition.has_log:
        return BrowsedRecords(partition.index, 0, 0, 0, None, [])
    log = partition.log
    first = log.log_end_offset + offset if offset < 0 else offset
    first = min(max(first, log.log_start_offset), log.log_end_offset)
    records: list[BrowsedRecord] = []
    following: int | None = None
    pace = Pace(RECORDS_PER_STEP)
    for record in _records_from(log, partition.index, first):
        if record is not None and record.offset >= first:
            if len(records) == limit:
                following = record.offset
                break
            records.append(record)
        if record is None or pace.is_over():
            yield
    return BrowsedRecords(
        partition.index, log.log_start_offset, log.high_watermark, log.log_end_offset, following, records
    )


def _records_from(log: "PartitionLog", partition: int, offset: int) -> Iterator[BrowsedRecord | None]:
    """The records of the batches from that of an offset on, read batch by batch; None is the end of a step."""
    for batch in batches_from(log, offset, log.log_end_offset):
        yield from _of_batch(log, partition, batch, parse_header(batch))


def batches_from(log: "PartitionLog", offset: int, end: int) -> Iterator[bytes]:
    """The whole batches from an offset to an end, read one by one: the log may change meanwhile."""
    while (offset := max(offset, log.log_start_offset)) < min(end, log.log_end_offset):
        batches = log.read(offset, 0, end)
        if not batches:
            return
        yield batches[0]
        offset = parse_header(batches[0]).last_offset + 1


def _of_batch(log: "PartitionLog", partition: int, batch: bytes, header: BatchHeader) -> Iterator[BrowsedRecord | None]:
    plain = BrowsedRecord(
        partition,
        header.base_offset,
        header.max_timestamp_ms,
        "LogAppendTime" if header.is_log_append_time else "CreateTime",
        None,
        None,
        -1,
        -1,
        (),
        CODEC_NAMES[header.codec] if header.codec < len(CODEC_NAMES) else str(header.codec),
        header.base_offset,
        header.producer_id,
        header.producer_epoch,
        -1,
        header.is_transactional,
        _outcome(log, header),
        None,
        False,
    )
    try:
        check_crc(batch, header)
        for record in read_records_in_steps(batch):
            yield record and (_marker(plain, record) if header.is_control else _record(plain, header, record))
    except (InvalidRecord, KafkaError):
        yield plain._replace(is_corrupt=True)


def _record(plain: BrowsedRecord, header: BatchHeader, record: Record) -> BrowsedRecord:
    sequence = header.base_sequence
    return plain._replace(
        offset=record.offset,
        timestamp_ms=record.timestamp_ms,
        key=_cut(record.key),
        value=_cut(record.value),
        key_bytes=-1 if record.key is None else len(record.key),
        value_bytes=-1 if record.value is None else len(record.value),
        headers=tuple((name.decode("utf-8", "replace"), _cut(value)) for name, value in record.headers),
        sequence=-1 if sequence < 0 else (sequence + record.offset - header.base_offset) & 0x7FFFFFFF,
    )


def _marker(plain: BrowsedRecord, record: Record) -> BrowsedRecord:
    """A marker: its key is a version and what it says, two bytes each."""
    kind = int.from_bytes((record.key or b"")[2:4], "big")
    known = kind in tuple(ControlRecordType)
    return plain._replace(
        offset=record.offset,
        timestamp_ms=record.timestamp_ms,
        marker=ControlRecordType(kind).name if known else f"type {kind}",
        transaction=None,
    )


def _outcome(log: "PartitionLog", header: BatchHeader) -> str | None:
    """What became of the transaction of a batch, None for one that is in no transaction."""
    if not header.is_transactional:
        return None
    at, producer_id = header.base_offset, header.producer_id
    if any(each.producer_id == producer_id for each in log.aborted.overlapping(at, at + 1)):
        return "aborted"
    state = log.producers.get(producer_id)
    began = None if state is None else state.current_transaction_offset
    return "open" if began is not None and began <= at else "committed"


def _cut(data: bytes | None) -> bytes | None:
    """The first bytes of what is long; text is not cut within a character."""
    if data is None or len(data) <= MAX_BYTES:
        return data
    for size_bytes in range(MAX_BYTES, MAX_BYTES - _UTF8_TAIL - 1, -1):
        try:
            data[:size_bytes].decode()
        except UnicodeDecodeError:
            continue
        return data[:size_bytes]
    return data[:MAX_BYTES]


# -- search by time ----------------------------------------------------------------------------------------------------


def find_by_time(partition: "Partition", target: int) -> Generator[None, None, FoundByTime]:
    """The first record at or after a time, or what a special value of ListOffsets finds, with the record there; in
    steps.
    """
    if not partition.has_log:
        return FoundByTime(partition.index, -1 if list_offsets.is_search(target) else 0, -1, -1, None)
    log = partition.log
    found = yield from list_offsets.find_offset(log, target, CONSUMER_REPLICA_ID, read_committed=False)
    there = (yield from browse(partition, found.offset, 1)).records if found.offset >= 0 else []
    record = next(iter(there), None)
    return FoundByTime(partition.index, found.offset, found.timestamp_ms, found.leader_epoch, record)


def target_of(when: datetime | int | str) -> int:
    """What ListOffsets is asked for a time: milliseconds since the epoch, a datetime with a time zone, its ISO text,
    "earliest", "latest" or "max". Raises InvalidArgument for anything else.
    """
    if isinstance(when, int) and not isinstance(when, bool) and when >= 0:
        return when
    if isinstance(when, str):
        if when in _SPECIAL:
            return _SPECIAL[when]
        if when.isascii() and when.isdecimal() and len(when) < 19:
            return int(when)
        with suppress(ValueError):
            when = datetime.fromisoformat(when)
    if isinstance(when, datetime) and when.utcoffset() is not None:
        return max(0, (when - _EPOCH) // timedelta(milliseconds=1))
    wanted = 'milliseconds since the epoch, a time with its zone, "earliest", "latest" or "max"'
    raise InvalidArgument("when", when, f"when is {when!r}; it must be {wanted}")


_SPECIAL = {
    "earliest": list_offsets.EARLIEST,
    "latest": list_offsets.LATEST,
    "max": list_offsets.MAX_TIMESTAMP,
}
