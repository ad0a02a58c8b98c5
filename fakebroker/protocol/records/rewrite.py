"""Batches encoded anew: with fewer records after compaction (CO-3), or in another compression on append (PD-22)."""

from collections.abc import Sequence

from fakebroker.protocol.records.batch import (
    BatchHeader,
    assemble,
    build_batch,
    parse_header,
    read_records,
    with_times,
)
from fakebroker.protocol.records.batch_format import CONTROL_BIT, FORMAT_BITS, LOG_APPEND_TIME_BIT, TRANSACTIONAL_BIT
from fakebroker.protocol.records.record_codec import Record


def rebuild(
    header: BatchHeader,
    records: Sequence[Record],
    *,
    last_offset_delta: int | None = None,
    delete_horizon_ms: int | None = None,
    level: int | None = None,
) -> bytes:
    """A batch of `records` with everything else as in `header`, checksum, length and maximum timestamp computed anew.

    The codec, kind of timestamp, transaction and control bits and the mark of an old format come from the header's
    attributes, the maximum timestamp only with LogAppendTime. `last_offset_delta` replaces the header's; `level` is the
    codec's compression level.
    """
    rebuilt = build_batch(
        records,
        base_offset=header.base_offset,
        last_offset_delta=header.last_offset_delta if last_offset_delta is None else last_offset_delta,
        leader_epoch=header.leader_epoch,
        codec=header.codec,
        level=level,
        log_append_time_ms=header.max_timestamp_ms if header.is_log_append_time else None,
        delete_horizon_ms=delete_horizon_ms,
        transactional=header.is_transactional,
        control=header.is_control,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
    )
    mark = header.attributes & FORMAT_BITS
    if not mark:
        return rebuilt
    new = parse_header(rebuilt)
    return with_times(rebuilt, attributes=new.attributes | mark, max_timestamp_ms=new.max_timestamp_ms)


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
