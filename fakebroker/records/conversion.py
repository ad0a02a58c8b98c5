"""Between formats: old message sets into one batch of format 2 on the way in, and back for old fetches."""

from fakebroker.errors import ErrorCode
from fakebroker.records.batch import build_batch, parse_header, read_records
from fakebroker.records.compression import DECOMPRESSED_LIMIT_BYTES, ZSTD
from fakebroker.records.faults import InvalidRecord
from fakebroker.records.message_set import build_message_set, read_message_set, unwrap
from fakebroker.records.record_codec import Record


def batch_from_message_set(data: bytes, limit_bytes: int = DECOMPRESSED_LIMIT_BYTES) -> bytes | None:
    """One batch with the messages of a set, in their compression, offsets from 0 (PD-30, LO-29); None without messages.

    Messages of format 0 have the timestamp -1. Raises CorruptBatch for a wrong checksum; InvalidRecord for two formats
    in one set (PD-31), and for a compressed message that is not alone.
    """
    messages = list(read_message_set(data))
    if not messages:
        return None
    if len({message.magic for message in messages}) > 1:
        raise InvalidRecord("messages of formats 0 and 1 in one set")
    codec = max(message.codec for message in messages)
    if codec and len(messages) > 1:
        raise InvalidRecord("a compressed message is not alone in its set")
    plain = unwrap(messages[0], limit_bytes) if codec else messages
    records = [Record(n, one.timestamp_ms, one.key, one.value) for n, one in enumerate(plain)]
    return build_batch(records, codec=codec, leader_epoch=-1)


def message_set_from_batch(batch: bytes, magic: int, first_offset: int = 0) -> bytes:
    """A stored batch in format 0 or 1, compressed as it was (MS-3, MS-4). A control batch vanishes.

    Uncompressed records below `first_offset` are left out. Raises InvalidRecord(UNSUPPORTED_COMPRESSION_TYPE) for zstd
    (FT-17).
    """
    header = parse_header(batch)
    if header.is_control:
        return b""
    if header.codec == ZSTD:
        raise InvalidRecord("zstd has no place in old message formats", ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
    records = [record for record in read_records(batch) if header.codec or record.offset >= first_offset]
    append_time_ms = header.max_timestamp_ms if header.is_log_append_time else None
    return build_message_set(records, magic, codec=header.codec, log_append_time_ms=append_time_ms)
