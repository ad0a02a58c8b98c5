"""Between formats: old message sets into one batch of format 2 on the way in, and back for old fetches.

What a topic keeps in format 0 or 1 is stored as a batch of format 2 with a mark, and converted for all who fetch it.
"""

from collections.abc import Generator, Iterator
from itertools import islice
from typing import Final

from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.batch import BatchHeader, build_batch, parse_header, read_records, with_times
from fakebroker.protocol.records.batch_format import (
    ATTRIBUTES_POSITION,
    FORMAT_BITS,
    FORMAT_SHIFT,
    HEADER_BYTES,
    LOG_APPEND_TIME_BIT,
    MAGIC_POSITION,
    NO_TIMESTAMP,
)
from fakebroker.protocol.records.compression import ZSTD, decompress_in_steps
from fakebroker.protocol.records.faults import InvalidRecord, TooLarge
from fakebroker.protocol.records.message_set import (
    MAX_MESSAGES,
    bounded_message_set,
    build_message_set,
    read_message_set,
    unwrap,
)
from fakebroker.protocol.records.record_codec import Record, decode_records
from fakebroker.protocol.records.rewrite import rebuild

UNPACKED_SET_BYTES = 16 << 20  # MOCK: what a message set may unpack to; it is converted in one step

RECORDS_PER_PART: Final = 10_000
_BYTES_PER_PART: Final = 2 << 20
Parts = Iterator[tuple[bytes, int]]
"""A batch in an old format, part by part: what is next, maybe nothing, and how many records that took. Each part is a
step: one client's records are not converted while others wait.
"""


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

    Raises InvalidRecord(UNKNOWN_SERVER_ERROR), as Kafka fails, for headers and zstd, which have no place there;
    TooLarge for very many records, which are rewritten in one step.
    """
    header = parse_header(batch)
    if header.codec == ZSTD:
        raise InvalidRecord(f"message format {magic} does not support zstd", ErrorCode.UNKNOWN_SERVER_ERROR)
    if header.records_count > MAX_MESSAGES:
        raise TooLarge(f"a batch for message format {magic} has more than {MAX_MESSAGES} records")
    records = list(read_records(batch, UNPACKED_SET_BYTES, is_checked=True))
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
    """All parts of `message_set_parts`, at once."""
    return b"".join(part for part, _ in message_set_parts(batch, magic, first_offset))


def message_set_parts(batch: bytes, magic: int, first_offset: int = 0) -> Parts:
    """A stored batch in format 0 or 1, compressed as it was (MS-3, MS-4). A control batch vanishes.

    What `as_formatted` gave is accepted as well: in format 1 it is converted where format 0 is wanted.

    Uncompressed records below `first_offset` are left out. Raises InvalidRecord(UNSUPPORTED_COMPRESSION_TYPE) for zstd
    (FT-17). MOCK: of a large compressed batch each part is a wrapper of its own, where Kafka makes one of all.
    """
    if batch[MAGIC_POSITION] < 2:
        yield (batch, 1) if batch[MAGIC_POSITION] <= magic else _in_format_0(batch)
        return
    header = parse_header(batch)
    if header.is_control:
        return
    if header.codec == ZSTD:
        raise InvalidRecord("message formats 0 and 1 do not support zstd", ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
    payload = yield from _unpacked(batch, header)
    append_time_ms = header.max_timestamp_ms if header.is_log_append_time else None
    records = decode_records(
        payload,
        header.records_count,
        header.base_offset,
        header.base_timestamp_ms,
        append_time_ms,
        is_checked=True,  # and the formats 0 and 1 have no headers
    )
    is_one_wrapper = header.codec and header.records_count <= RECORDS_PER_PART and len(payload) <= _BYTES_PER_PART
    while part := _next_part(records):
        is_whole = is_one_wrapper or (header.codec and part[-1].offset >= first_offset)
        kept = part if is_whole else [record for record in part if record.offset >= first_offset]
        yield build_message_set(kept, magic, codec=header.codec, log_append_time_ms=append_time_ms), len(part)


def _unpacked(batch: bytes, header: BatchHeader) -> Generator[tuple[bytes, int], None, bytes]:
    """The records of a batch as bytes; empty parts while they are decompressed."""
    payload = batch[HEADER_BYTES : header.size_bytes]
    if not header.codec:
        return payload
    unpacking = decompress_in_steps(header.codec, payload)
    while True:
        try:
            next(unpacking)
        except StopIteration as end:
            return bytes(end.value)
        yield b"", RECORDS_PER_PART


def _next_part(records: Iterator[Record]) -> list[Record]:
    part: list[Record] = []
    size_bytes = 0
    for record in islice(records, RECORDS_PER_PART):
        part.append(record)
        size_bytes += len(record.key or b"") + len(record.value or b"")
        if size_bytes > _BYTES_PER_PART:
            break
    return part


def _in_format_0(data: bytes) -> tuple[bytes, int]:
    """A message set of format 1, of plain messages or of one wrapper, in format 0; and how many messages it has."""
    messages = list(read_message_set(data))
    plain = [inner for message in messages for inner in unwrap(message)]
    records = [Record(each.offset, NO_TIMESTAMP, each.key, each.value) for each in plain]
    return build_message_set(records, 0, codec=max(message.codec for message in messages)), len(records)
