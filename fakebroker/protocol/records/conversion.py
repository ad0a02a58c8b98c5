"""Between formats: old message sets into one batch of format 2 on the way in, and back for old fetches.

What a topic keeps in format 0 or 1 is stored as a batch of format 2 with a mark, and converted for all who fetch it.
"""

from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.batch import build_batch, parse_header, read_records, with_times
from fakebroker.protocol.records.batch_format import (
    ATTRIBUTES_POSITION,
    FORMAT_BITS,
    FORMAT_SHIFT,
    LOG_APPEND_TIME_BIT,
    MAGIC_POSITION,
    NO_TIMESTAMP,
)
from fakebroker.protocol.records.compression import ZSTD
from fakebroker.protocol.records.faults import InvalidRecord
from fakebroker.protocol.records.message_set import bounded_message_set, build_message_set, read_message_set, unwrap
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.records.rewrite import rebuild

UNPACKED_SET_BYTES = 16 << 20  # MOCK: what a message set may unpack to; it is converted in one step


def batch_from_message_set(data: bytes, limit_bytes: int = UNPACKED_SET_BYTES) -> bytes | None:
    """One batch with the messages of a set, in their compression, offsets from 0 (PD-30, LO-29); None without messages.

    Messages of format 0 have the timestamp -1. Raises CorruptBatch for a wrong checksum; InvalidRecord for two formats
    in one set (PD-31), and for a compressed message that is not alone; TooLarge for very many messages.
    """
    messages = bounded_message_set(data)
    if not messages:
        return None
    if len({message.magic for message in messages}) > 1:
        raise InvalidRecord("the message set mixes formats 0 and 1")
    codec = max(message.codec for message in messages)
    if codec and len(messages) > 1:
        raise InvalidRecord(
            "the message set has a compressed message and others; a compressed message must be the only one"
        )
    plain = unwrap(messages[0], limit_bytes) if codec else messages
    records = [Record(n, one.timestamp_ms, one.key, one.value) for n, one in enumerate(plain)]
    return build_batch(records, codec=codec, leader_epoch=-1)


def mark_old_format(batch: bytes, magic: int) -> bytes:
    """A batch as it is stored for a topic of format 0 or 1: marked, and in format 0 without times (MS-9).

    Raises InvalidRecord(UNKNOWN_SERVER_ERROR), as Kafka fails, for headers and zstd, which have no place there.
    """
    header = parse_header(batch)
    if header.codec == ZSTD:
        raise InvalidRecord(f"message format {magic} does not support zstd", ErrorCode.UNKNOWN_SERVER_ERROR)
    records = list(read_records(batch))
    if any(record.headers for record in records):
        raise InvalidRecord(f"message format {magic} does not support headers", ErrorCode.UNKNOWN_SERVER_ERROR)
    if magic == 0:
        timeless = [record._replace(timestamp_ms=NO_TIMESTAMP) for record in records]
        batch = rebuild(header._replace(attributes=header.attributes & ~LOG_APPEND_TIME_BIT), timeless)
        header = parse_header(batch)
    attributes = header.attributes & ~FORMAT_BITS | magic + 1 << FORMAT_SHIFT
    return with_times(batch, attributes=attributes, max_timestamp_ms=header.max_timestamp_ms)


def is_marked(batch: bytes) -> bool:
    """Whether the records of a stored batch have an old format for those who fetch them."""
    return bool(batch[ATTRIBUTES_POSITION] << FORMAT_SHIFT & FORMAT_BITS)


def without_mark(batch: bytes) -> bytes:
    """The batch without the attributes that a mark takes, which a client may have set."""
    if not is_marked(batch):
        return batch
    header = parse_header(batch)
    return with_times(batch, attributes=header.attributes & ~FORMAT_BITS, max_timestamp_ms=header.max_timestamp_ms)


def as_formatted(batch: bytes, first_offset: int) -> bytes:
    """A marked batch as a message set of the format that the mark names.

    Uncompressed records below `first_offset` are left out.
    """
    magic = (parse_header(batch).attributes & FORMAT_BITS) >> FORMAT_SHIFT
    return message_set_from_batch(batch, magic - 1, first_offset)


def message_set_from_batch(batch: bytes, magic: int, first_offset: int = 0) -> bytes:
    """A stored batch in format 0 or 1, compressed as it was (MS-3, MS-4). A control batch vanishes.

    What `as_formatted` gave is accepted as well: in format 1 it is converted where format 0 is wanted.

    Uncompressed records below `first_offset` are left out. Raises InvalidRecord(UNSUPPORTED_COMPRESSION_TYPE) for zstd
    (FT-17).
    """
    if batch[MAGIC_POSITION] < 2:
        return batch if batch[MAGIC_POSITION] <= magic else _in_format_0(batch)
    header = parse_header(batch)
    if header.is_control:
        return b""
    if header.codec == ZSTD:
        raise InvalidRecord("message formats 0 and 1 do not support zstd", ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
    records = [record for record in read_records(batch) if header.codec or record.offset >= first_offset]
    append_time_ms = header.max_timestamp_ms if header.is_log_append_time else None
    return build_message_set(records, magic, codec=header.codec, log_append_time_ms=append_time_ms)


def _in_format_0(data: bytes) -> bytes:
    """A message set of format 1, of plain messages or of one wrapper, in format 0."""
    messages = list(read_message_set(data))
    plain = [inner for message in messages for inner in unwrap(message)]
    records = [Record(each.offset, NO_TIMESTAMP, each.key, each.value) for each in plain]
    return build_message_set(records, 0, codec=max(message.codec for message in messages))
