"""What a broker checks before it stores a produced batch, and what it changes in it (PD-10 to PD-22, RB-5)."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from fakebroker.broker.core.logs.config import LogConfig
from fakebroker.broker.core.logs.recompression import CODECS, is_long, is_too_large, recompressed
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.records.batch import (
    LONG_BATCH_BYTES,
    BatchHeader,
    crc32c,
    crc32c_between,
    parse_header,
    with_times,
)
from fakebroker.protocol.records.batch_format import (
    ATTRIBUTES_POSITION,
    CODEC_BITS,
    CONTROL_BIT,
    CRC_START,
    HEADER_BYTES,
    LENGTH_END,
    LENGTH_POSITION,
    LOG_APPEND_TIME_BIT,
    MAGIC_POSITION,
    NO_TIMESTAMP,
)
from fakebroker.protocol.records.faults import InvalidRecord
from fakebroker.protocol.records.record_scan import LATER, LongScan, Scan, scan

ZSTD = 4
_SMALLEST_MESSAGE_LENGTH = 14
_KEPT_ATTRIBUTES = 0x7F  # bit 7 does not survive when Kafka writes the attributes anew


class BadRecords(NamedTuple):
    """A batch that may not be stored for some of its records, and by what these are judged.

    Which they are bad_records.py finds out, in steps: a batch of 100 bytes may have a hundred thousand.
    """

    batch: bytes
    header: BatchHeader
    seen: Scan
    config: LogConfig
    partition: str  # "topic-0", for messages
    low_ms: int
    high_ms: int

    @property
    def is_certain(self) -> bool:
        """Whether any record is wrong. If not, the earliest time is none, and what the next is must be looked up."""
        if self.header.is_log_append_time or (self.config.compact and self.seen.has_null_key):
            return True
        return self.seen.max_timestamp_ms > self.high_ms or self.seen.min_timestamp_ms != NO_TIMESTAMP


class AppendError(KafkaError):
    """Why a batch is not appended.

    `show_message` says whether Produce puts the message into its answer; for most codes it is null there. With
    `bad_records` the code is only what is likely.
    """

    def __init__(
        self,
        code: ErrorCode,
        message: str | None,
        *,
        show_message: bool = False,
        bad_records: BadRecords | None = None,
    ) -> None:
        super().__init__(code, message)
        self.show_message = show_message
        self.bad_records = bad_records

    @property
    def append_content(self) -> "AppendErrorContent":
        """Everything it says, as a value."""
        return AppendErrorContent(self.code, self.message, show_message=self.show_message)


class AppendErrorContent(NamedTuple):
    """An AppendError's content as a value to keep (see `errors.ErrorContent`).

    `record_errors` names single records: (index in the batch, text) (KIP-467, PD-17).
    """

    code: ErrorCode
    message: str | None
    record_errors: Sequence[tuple[int, str]] = ()
    show_message: bool = False


class CheckedBatch(NamedTuple):
    """A batch that may be stored."""

    data: bytes  # as it is stored, but for base offset and leader epoch
    header: BatchHeader  # as the client sent it
    max_timestamp_ms: int  # of its records; now with LogAppendTime


def next_batch(data: bytes, position: int = 0) -> int | None:
    """The size in bytes of the batch or message at `position`, None if no whole one is there (PD-12).

    Raises AppendError(CORRUPT_MESSAGE) for a size or a magic that cannot be, also if the batch is incomplete.
    """
    left = len(data) - position
    if left < LENGTH_END:
        return None
    length = int.from_bytes(data[position + LENGTH_POSITION : position + LENGTH_END], "big", signed=True)
    if length < _SMALLEST_MESSAGE_LENGTH:
        raise AppendError(ErrorCode.CORRUPT_MESSAGE, f"a record size of {length} bytes is too small", show_message=True)
    if left <= MAGIC_POSITION:
        return None
    if data[position + MAGIC_POSITION] > 2:
        magic = int.from_bytes(data[position + MAGIC_POSITION : position + MAGIC_POSITION + 1], "big", signed=True)
        raise AppendError(ErrorCode.CORRUPT_MESSAGE, f"Invalid magic found in record: {magic}", show_message=True)
    size_bytes = length + LENGTH_END
    return size_bytes if size_bytes <= left else None


def single_batch(data: bytes, *, zstd_allowed: bool = True) -> bytes:
    """The one batch of format 2 that Produce v3+ carries per partition; an incomplete one after it is cut off.

    PD-12, PD-15: Kafka ignores such a rest.

    Raises AppendError: INVALID_RECORD for no batch, two batches or another format, CORRUPT_MESSAGE for a size or magic
    that cannot be, UNSUPPORTED_COMPRESSION_TYPE for zstd unless allowed (PD-13; KIP-110), UNKNOWN_SERVER_ERROR for a
    codec that does not exist.
    """
    size_bytes = next_batch(data)
    if size_bytes is None:
        raise AppendError(ErrorCode.INVALID_RECORD, f"{len(data)} bytes are too short for a record batch")
    if data[MAGIC_POSITION] != 2:
        raise AppendError(
            ErrorCode.INVALID_RECORD, f"the batch has magic {data[MAGIC_POSITION]}; only magic 2 is allowed"
        )
    if not zstd_allowed:
        codec = data[ATTRIBUTES_POSITION + 1] & CODEC_BITS
        if codec > ZSTD:
            raise AppendError(ErrorCode.UNKNOWN_SERVER_ERROR, f"unknown compression type {codec}")
        if codec == ZSTD:
            raise AppendError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "zstd needs Produce v7 or later")
    if size_bytes == len(data):
        return data
    try:
        second = next_batch(data, size_bytes)
    except AppendError as error:
        raise AppendError(error.code, error.message) from None
    if second is not None:
        raise AppendError(ErrorCode.INVALID_RECORD, "the partition has more than one record batch")
    return data[:size_bytes]


def check_batch(
    data: bytes, config: LogConfig, partition: str, now_ms: int, scan_batch: Callable[[bytes, BatchHeader], Scan] = scan
) -> CheckedBatch:
    """Check one whole batch of format 2 and bring it into the form in which it is stored.

    `partition` is "topic-0", for messages. `scan_batch` gives the scan of the batch (request_scans.py); of what it
    raises InvalidRecord becomes an AppendError, all else goes to the caller. Raises AppendError.
    """
    if len(data) < HEADER_BYTES:
        raise AppendError(
            ErrorCode.CORRUPT_MESSAGE, f"{partition}: a batch of {len(data)} bytes is too short for a header"
        )
    try:
        header = parse_header(data)
        check_header(data, header, config, partition)
        seen = scan_batch(data, header)
    except InvalidRecord as fault:
        raise AppendError(fault.code, f"{partition}: {fault.message}") from None
    _check_records(data, header, seen, config, partition, now_ms)
    return _as_stored(data, header, seen, config, now_ms)


def check_header(data: bytes, header: BatchHeader, config: LogConfig, partition: str) -> None:
    """Check base offset, size, checksum, codec and counts, in this order (PD-10, PD-11, PD-14).

    Raises AppendError, or InvalidRecord for what Kafka finds wrong with the batch as such.
    """
    base_offset, _, _, _, crc, attributes, last_offset_delta, _, _, producer_id, _, base_sequence, count = header
    if base_offset:
        raise AppendError(
            ErrorCode.INVALID_RECORD, f"{partition}: the base offset of a new batch is {base_offset}, not 0"
        )
    if len(data) > config.max_message_bytes:
        raise _too_large(data, config, partition)
    found = crc32c(data[CRC_START:]) if len(data) < LONG_BATCH_BYTES else crc32c_between(data, CRC_START, len(data))
    if found != crc:
        raise AppendError(
            ErrorCode.CORRUPT_MESSAGE,
            f"{partition}: the batch has checksum {crc:#010x}, but its bytes have {found:#010x}",
        )
    if attributes & CODEC_BITS > ZSTD:
        raise AppendError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{partition}: unknown compression type {header.codec}")
    if count <= 0 or last_offset_delta + 1 != count:
        raise InvalidRecord(f"{count} records with a last offset delta of {last_offset_delta}")
    if attributes & CONTROL_BIT:
        raise InvalidRecord("clients must not write control batches")
    if producer_id >= 0 and base_sequence < 0:
        raise InvalidRecord(f"producer {producer_id} sends base sequence {base_sequence}")


def _too_large(data: bytes, config: LogConfig, partition: str) -> AppendError:
    return AppendError(
        ErrorCode.MESSAGE_TOO_LARGE,
        f"{partition}: a batch of {len(data)} bytes, max.message.bytes is {config.max_message_bytes}",
    )


def _check_records(
    data: bytes, header: BatchHeader, seen: Scan, config: LogConfig, partition: str, now_ms: int
) -> None:
    """Check keys and timestamps (PD-16 to PD-21). Raises AppendError with `bad_records`."""
    low_ms, high_ms = now_ms - config.timestamp_before_max_ms, now_ms + config.timestamp_after_max_ms
    lacks_key = config.compact and seen.has_null_key
    if not lacks_key and not _may_have_bad_time(header, seen, config, low_ms, high_ms):
        return
    raise AppendError(
        ErrorCode.INVALID_RECORD if lacks_key else ErrorCode.INVALID_TIMESTAMP,
        f"{partition}: some of {header.records_count} records have {'no key' if lacks_key else 'invalid timestamps'}; "
        "the broker did not determine which",
        bad_records=BadRecords(data, header, seen, config, partition, low_ms, high_ms),
    )


def _may_have_bad_time(header: BatchHeader, seen: Scan, config: LogConfig, low_ms: int, high_ms: int) -> bool:
    """Whether `time_fault` may find something wrong with the time of a record."""
    has_append_time = header.attributes & LOG_APPEND_TIME_BIT
    if config.log_append_time or has_append_time:
        return (
            bool(has_append_time) and time_fault(header.max_timestamp_ms, header, config, low_ms, high_ms) is not None
        )
    if low_ms <= seen.min_timestamp_ms and seen.max_timestamp_ms <= high_ms:
        return False
    return not seen.min_timestamp_ms == seen.max_timestamp_ms == NO_TIMESTAMP


def time_fault(timestamp_ms: int, header: BatchHeader, config: LogConfig, low_ms: int, high_ms: int) -> str | None:
    """What is wrong with the time of a record, as a consumer would see it."""
    if not config.log_append_time and timestamp_ms != NO_TIMESTAMP:
        if low_ms <= timestamp_ms <= high_ms:
            return None
        return f"timestamp {timestamp_ms} is outside the allowed range, {low_ms} to {high_ms}"
    if header.is_log_append_time:
        return "a client must not set the timestamp type LogAppendTime"
    return None


def _as_stored(data: bytes, header: BatchHeader, seen: Scan, config: LogConfig, now_ms: int) -> CheckedBatch:
    """Bring a batch into the form in which it is stored: the topic's codec (PD-22), timestamps (PD-20, PD-21).

    With LogAppendTime the timestamp is the broker's; else the header gets the true maximum. Seen on 4.3.1: rewriting
    fails with UNKNOWN_SERVER_ERROR for timestamps below -1, and puts offsets right; without rewriting, offsets out of
    place in a compressed batch fail with UNKNOWN_SERVER_ERROR.
    """
    attributes = header.attributes
    has_append_time = attributes & LOG_APPEND_TIME_BIT
    if config.log_append_time:
        max_timestamp_ms, time_bit = now_ms, LOG_APPEND_TIME_BIT
    else:
        true_ms = header.max_timestamp_ms if has_append_time else seen.max_timestamp_ms
        max_timestamp_ms, time_bit = true_ms if true_ms > NO_TIMESTAMP else NO_TIMESTAMP, 0
    sent_codec = attributes & CODEC_BITS
    codec = sent_codec if config.compression_type == "producer" else CODECS[config.compression_type]
    if codec != sent_codec:
        earliest_ms = header.max_timestamp_ms if has_append_time else seen.min_timestamp_ms
        if earliest_ms < NO_TIMESTAMP:
            raise AppendError(ErrorCode.UNKNOWN_SERVER_ERROR, f"timestamp {earliest_ms} cannot be rewritten")
        if seen.recompressed is LATER and is_long(data, config):
            raise LongScan
        if is_too_large(header, seen, config):
            raise AppendError(
                ErrorCode.MESSAGE_TOO_LARGE, f"{seen.size_bytes} bytes of records are too many to be recompressed"
            )
        data = recompressed(data, header, seen, config, now_ms)
        if len(data) > config.max_message_bytes:
            raise _too_large(data, config, "after compression")
    elif codec and seen.misplaced is not None:
        raise AppendError(ErrorCode.UNKNOWN_SERVER_ERROR, f"record {seen.misplaced} is not at its position")
    elif time_bit != has_append_time or max_timestamp_ms != header.max_timestamp_ms:
        attributes = attributes & _KEPT_ATTRIBUTES & ~LOG_APPEND_TIME_BIT | time_bit
        data = with_times(data, attributes=attributes, max_timestamp_ms=max_timestamp_ms)
    if len(data) > config.segment_bytes:
        raise AppendError(
            ErrorCode.RECORD_LIST_TOO_LARGE, f"a batch of {len(data)} bytes, segment.bytes is {config.segment_bytes}"
        )
    return tuple.__new__(CheckedBatch, (data, header, max_timestamp_ms))  # as CheckedBatch(...), in half the time
