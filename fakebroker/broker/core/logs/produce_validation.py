"""Validation of Produce: of the request as a whole, then of one partition's records, which it appends (PD).

Kafka: `ProduceRequest.validateRecords`, `ReplicaManager.appendRecords`, `LogValidator`. The checks of the batch itself
are in appends.py.
"""

from collections.abc import Generator, Iterable
from struct import Struct
from typing import TYPE_CHECKING

from fakebroker.broker.core.logs.appends import AppendError, AppendErrorContent, check_batch, next_batch, single_batch
from fakebroker.broker.core.logs.log import Appended
from fakebroker.broker.core.logs.request_scans import SHORT_BATCH_BYTES, ScanBatch
from fakebroker.broker.core.stale_view import StaleView
from fakebroker.protocol.errors import CloseConnection, ErrorCode
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.records.batch import split_batches
from fakebroker.protocol.records.batch_format import (
    ATTRIBUTES_POSITION,
    HEADER_BYTES,
    LENGTH_END,
    LENGTH_POSITION,
    MAGIC_POSITION,
    PRODUCER_EPOCH_POSITION,
    PRODUCER_ID_POSITION,
    TRANSACTIONAL_BIT,
)
from fakebroker.protocol.records.conversion import batch_from_message_set
from fakebroker.protocol.records.faults import InvalidRecord
from fakebroker.protocol.records.record_scan import short_scan

if TYPE_CHECKING:
    from fakebroker.broker.core.logs.producers import Producers
    from fakebroker.broker.core.topics import Partition

_FLAGS_POSITION = ATTRIBUTES_POSITION + 1  # their lower byte, which has all that are defined
_PRODUCER_ID_END = PRODUCER_EPOCH_POSITION
_length_magic_flags = Struct(">i4xB5xB").unpack_from  # from the length on
_producer = Struct(">qh").unpack_from  # id and epoch


def is_single_batch(records: bytes | None) -> bool:
    """Whether produced data is one short batch of format 2 in no transaction, judged by its header."""
    if records is None or not HEADER_BYTES <= len(records) <= SHORT_BATCH_BYTES:
        return False
    length, magic, flags = _length_magic_flags(records, LENGTH_POSITION)
    return length + LENGTH_END == len(records) and magic == 2 and not flags & TRANSACTIONAL_BIT


def is_single_batch_of_open_transaction(records: bytes | None, producers: "Producers") -> bool:
    """Whether produced data is one short batch of format 2: a plain one, or of a transaction that is open here."""
    if records is None or not HEADER_BYTES <= len(records) <= SHORT_BATCH_BYTES:
        return False
    length, magic, flags = _length_magic_flags(records, LENGTH_POSITION)
    if length + LENGTH_END != len(records) or magic != 2:
        return False
    return not flags & TRANSACTIONAL_BIT or producers.is_in_transaction(*_producer(records, PRODUCER_ID_POSITION))


def is_message_set(records: bytes) -> bool:
    """Whether produced data is of formats 0 or 1."""
    return records[MAGIC_POSITION] < 2


def is_transactional(records: bytes | None) -> bool:
    """Whether produced data is a transactional batch, judged by its first bytes."""
    if records is None or len(records) <= _FLAGS_POSITION or records[MAGIC_POSITION] != 2:
        return False
    return bool(records[_FLAGS_POSITION] & TRANSACTIONAL_BIT)


def first_request_error(
    parts: Iterable[bytes | None], pace: Pace, *, has_transactional_id: bool
) -> Generator[None, None, AppendErrorContent | None]:
    """The error with which Kafka answers all partitions, found while it searches for the first transactional batch.

    `parts` are the records of the partitions in request order, which are looked through in steps. CORRUPT_MESSAGE for a
    size or a magic that cannot be (PD-12), TRANSACTIONAL_ID_AUTHORIZATION_FAILED for a transactional batch without a
    transactional id (PD-25).
    """
    for records in parts:
        try:
            found = records is not None and next_batch(records) is not None
        except AppendError as error:
            return error.append_content
        if found and is_transactional(records):
            if has_transactional_id:
                return None
            return AppendErrorContent(
                ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "the transactional id is missing"
            )
        if pace.is_over():
            yield
    return None


def check_readable(parts: Iterable[bytes | None], pace: Pace) -> Generator[None, None, None]:
    """Raise CloseConnection unless each partition's records begin with a batch or a message (PD-12); in steps.

    Before 2.3 Kafka looks at the first one while it reads the request.
    """
    for records in parts:
        try:
            is_readable = records is not None and next_batch(records) is not None and not is_header_truncated(records)
        except AppendError:
            is_readable = False
        if not is_readable:
            raise CloseConnection("the records of a partition do not begin with a batch")
        if pace.is_over():
            yield


def is_header_truncated(batch: bytes | None) -> bool:
    """Whether a batch ends before its producer id: Kafka then fails the whole request with UNKNOWN_SERVER_ERROR."""
    return batch is not None and len(batch) < _PRODUCER_ID_END and batch[MAGIC_POSITION] == 2


def extract_batch(records: bytes | None, *, old_formats: bool, zstd_allowed: bool) -> bytes | None:
    """The batch to append, or with `old_formats` (v0-v2) maybe a message set as it came (PD-12, PD-13).

    None for an empty message set (PD-31). Raises AppendError as `single_batch` does, INVALID_RECORD for null.
    """
    if old_formats:
        if records is None or next_batch(records) is None:
            return None
        return single_batch(records) if records[MAGIC_POSITION] == 2 else records
    if records is None:
        raise AppendError(ErrorCode.INVALID_RECORD, "the records are null")
    return single_batch(records, zstd_allowed=zstd_allowed)


def append(
    partition: "Partition",
    node_id: int,
    batch: bytes | None,
    acks: int,
    now: Instant,
    scan_batch: ScanBatch = short_scan,
) -> Appended | None:
    """Append a batch, as `extract_batch` returned it, to the leader's log; None if it is None (PD-10).

    Raises AppendError, and LongScan if `scan_batch` does: nothing is appended, and the batch must be scanned in steps.
    """
    _check_access(partition, node_id, acks)
    if batch is None:
        return None
    seen = partition.seen_by(node_id)
    if acks == -1:
        _check_in_sync(partition, len(seen.isr))
    if is_message_set(batch):
        batch = _converted(batch, partition)
    if isinstance(seen, StaleView):
        return _append_in_vain(partition, seen, batch, now, scan_batch)
    return partition.log.append(batch, now, scan_batch)


def append_at_once(partition: "Partition", node_id: int, batch: bytes, acks: int, now: Instant) -> Appended:
    """As `append`, for a batch that `is_single_batch` and a partition that is not lagging: these need fewer checks."""
    _check_access(partition, node_id, acks)
    if acks == -1:
        _check_in_sync(partition, len(partition.isr))
    return partition.log.append(batch, now, short_scan)


def _check_access(partition: "Partition", node_id: int, acks: int) -> None:
    if acks not in (-1, 0, 1):
        raise AppendError(ErrorCode.INVALID_REQUIRED_ACKS, f"unknown acks {acks}")
    topic = partition.topic
    if topic.is_internal:
        raise AppendError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{topic.name} is internal: only coordinators write to it")
    code = partition.error_for_access(node_id)
    if code:
        raise AppendError(code, f"broker {node_id} does not lead {partition.log.name}")


def _check_in_sync(partition: "Partition", in_sync: int) -> None:
    needed = partition.min_isr
    if in_sync < needed:
        raise AppendError(ErrorCode.NOT_ENOUGH_REPLICAS, f"{in_sync} replicas are in sync, but {needed} are needed")


def _append_in_vain(
    partition: "Partition", seen: StaleView, batch: bytes, now: Instant, scan_batch: ScanBatch
) -> Appended:
    """Append to the copy of a broker that does not lead any more: it gets an offset, and is lost (CLU-44)."""
    log = partition.log
    checked = check_batch(batch, log.config, log.name, now.wall_ms, scan_batch)
    base_offset = seen.append(checked.header.last_offset_delta + 1)
    return Appended(base_offset, now.wall_ms if log.config.log_append_time else -1, log.log_start_offset)


def _converted(records: bytes, partition: "Partition") -> bytes:
    """A message set as one batch (PD-30). Its messages, or its wrapper, are measured as they came (PD-11)."""
    largest = partition.log.config.max_message_bytes
    if any(len(message) > largest for message in split_batches(records)):
        raise AppendError(ErrorCode.MESSAGE_TOO_LARGE, f"a message is larger than max.message.bytes, {largest}")
    try:
        batch = batch_from_message_set(records)
    except InvalidRecord as fault:
        raise AppendError(fault.code, fault.message) from None
    assert batch is not None, "extract_batch lets no empty set pass"
    return batch
