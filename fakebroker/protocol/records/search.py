"""Search by time inside one stored batch: timestamps are read in place, keys and values jumped over (LO-11)."""

from struct import Struct

from fakebroker.protocol.records.batch import BatchHeader, parse_header, payload_of, read_records
from fakebroker.protocol.records.faults import InvalidRecord
from fakebroker.protocol.records.varint import decode_zigzag_varint

BEFORE_EVERY_TIMESTAMP = -(2**63)  # of what no search by time may find
_BASE_MAX_COUNT = Struct(">q27xq14xi")  # base offset, max timestamp, number of records


def find_record(batch: bytes, target_ms: int, from_offset: int) -> tuple[int, int] | None:
    """(offset, timestamp) of the first record at or after `from_offset` whose timestamp is >= `target_ms`, or None.

    In a batch of log append time every record has the batch's time (LO-15, LO-26). Raises InvalidRecord when the
    stored bytes do not parse, which only a test that corrupted them can bring about.
    """
    header = parse_header(batch)
    payload = payload_of(batch, header)
    if not header.is_log_append_time:
        return _first_reaching(payload, header, target_ms - header.base_timestamp_ms, from_offset)
    if header.max_timestamp_ms < target_ms:
        return None
    first = _first_reaching(payload, header, BEFORE_EVERY_TIMESTAMP, from_offset)
    return first and (first[0], header.max_timestamp_ms)


def max_timestamp_from(batch: bytes, from_offset: int) -> int:
    """The largest timestamp (ms) of the records from `from_offset` on; BEFORE_EVERY_TIMESTAMP without any."""
    base_offset: int
    max_timestamp_ms: int
    base_offset, max_timestamp_ms, count = _BASE_MAX_COUNT.unpack_from(batch)
    if not count:
        return BEFORE_EVERY_TIMESTAMP
    if base_offset >= from_offset:
        return max_timestamp_ms
    try:
        times_ms = (record.timestamp_ms for record in read_records(batch) if record.offset >= from_offset)
        return max(times_ms, default=BEFORE_EVERY_TIMESTAMP)
    except InvalidRecord:
        return max_timestamp_ms  # corrupted by a test; a search in the batch raises then


def _first_reaching(payload: bytes, header: BatchHeader, least_delta: int, from_offset: int) -> tuple[int, int] | None:
    """(offset, timestamp) of the first record from `from_offset` on with a timestamp delta of at least `least_delta`.

    A flat loop like that of usual_records.py: varints of one and two bytes are read in place (batch_format.py draws a
    record), but of each record only its length and its timestamp delta. Raises InvalidRecord.
    """
    position = 0
    try:
        for _ in range(header.records_count):
            size = payload[position]
            position += 1
            if size > 127:
                more = payload[position]
                if more > 127:
                    size, position = decode_zigzag_varint(payload, position - 1)
                else:
                    size = (size & 127 | more << 7) >> 1
                    position += 1
            else:
                size >>= 1
            at = position + 1  # after the attributes
            zigzag = payload[at]
            if zigzag > 127:
                more = payload[at + 1]
                if more > 127:
                    delta, at = decode_zigzag_varint(payload, at, 10)
                else:
                    zigzag = zigzag & 127 | more << 7
                    delta = (zigzag >> 1) ^ -(zigzag & 1)
                    at += 2
            else:
                delta = (zigzag >> 1) ^ -(zigzag & 1)
                at += 1
            if delta >= least_delta:
                offset = header.base_offset + decode_zigzag_varint(payload, at)[0]
                if offset >= from_offset:
                    return offset, header.base_timestamp_ms + delta
            position += size
    except IndexError:
        raise InvalidRecord(f"the record at byte {position} of {len(payload)} is truncated") from None
    return None
