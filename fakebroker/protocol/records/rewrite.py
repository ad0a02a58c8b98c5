"""Batches encoded anew: with fewer records after compaction (CO-3), or in another compression on append (PD-22)."""

from collections.abc import Generator, Sequence

from fakebroker.protocol.pace import AT_ONCE, Pace, finished
from fakebroker.protocol.records.batch import BatchHeader, assemble, parse_header, read_records
from fakebroker.protocol.records.batch_format import (
    CODEC_BITS,
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    FORMAT_BITS,
    LOG_APPEND_TIME_BIT,
    NO_TIMESTAMP,
    TRANSACTIONAL_BIT,
)
from fakebroker.protocol.records.compression import compress_in_steps
from fakebroker.protocol.records.record_codec import Record, encode_record
from fakebroker.protocol.records.varint import as_long

_KEPT_BITS = CODEC_BITS | LOG_APPEND_TIME_BIT | TRANSACTIONAL_BIT | CONTROL_BIT | FORMAT_BITS


def rebuild(header: BatchHeader, records: Sequence[Record], *, last_offset_delta: int | None = None) -> bytes:
    """A batch of `records` with everything else as in `header`; `last_offset_delta` replaces the header's."""
    if last_offset_delta is not None:
        header = header._replace(last_offset_delta=last_offset_delta)
    return finished(rebuild_in_steps(header, records, AT_ONCE))


def rebuild_in_steps(
    header: BatchHeader,
    records: Sequence[Record],
    pace: Pace,
    *,
    delete_horizon_ms: int | None = None,
    level: int | None = None,
) -> Generator[None, None, bytes]:
    """A batch of `records` with everything else as in `header`: a batch of 1 MB may have a million records.

    Checksum and length are computed anew, and so is the maximum timestamp but with LogAppendTime. A delete horizon
    becomes the base of the records' times, which stay the same. `level` is the codec's compression level.
    """
    first_ms = records[0].timestamp_ms if records else NO_TIMESTAMP
    base_timestamp_ms = first_ms if delete_horizon_ms is None else delete_horizon_ms
    max_timestamp_ms, parts = first_ms, list[bytes]()
    for record in records:
        max_timestamp_ms = max(max_timestamp_ms, record.timestamp_ms)
        near = record if delete_horizon_ms is None else _near(record, delete_horizon_ms)
        parts.append(encode_record(near, header.base_offset, base_timestamp_ms))
        if pace.is_over():
            yield
    encoded = b"".join(parts)
    del parts
    payload = yield from compress_in_steps(header.codec, encoded, level)
    changed = header._replace(
        attributes=header.attributes & _KEPT_BITS | (0 if delete_horizon_ms is None else DELETE_HORIZON_BIT),
        base_timestamp_ms=base_timestamp_ms,
        max_timestamp_ms=header.max_timestamp_ms if header.is_log_append_time else max_timestamp_ms,
        records_count=len(records),
    )
    return assemble(changed, payload)


def _near(record: Record, horizon_ms: int) -> Record:
    """The record with a time whose difference to a delete horizon fits into a long.

    Kafka's is wrong by 2^64 where it does not, and right again when the horizon is added.
    """
    return record._replace(timestamp_ms=horizon_ms + as_long(record.timestamp_ms - horizon_ms))


def cut_batch(batch: bytes, offset: int) -> bytes | None:
    """The batch without the records from `offset` on; None when nothing is left of it."""
    header = parse_header(batch)
    if offset <= header.base_offset:
        return None
    records = [record for record in read_records(batch, is_checked=True) if record.offset < offset]
    if not records:
        return None
    last_offset_delta = min(offset - 1, header.last_offset) - header.base_offset
    return rebuild(header, records, last_offset_delta=last_offset_delta)


def empty_batch(header: BatchHeader) -> bytes:
    """The batch without its records: offsets, producer and maximum timestamp stay, the rest of the header is blank."""
    kept = header.attributes & (LOG_APPEND_TIME_BIT | TRANSACTIONAL_BIT | CONTROL_BIT)
    return assemble(header._replace(attributes=kept, base_timestamp_ms=-1, records_count=0), b"")
