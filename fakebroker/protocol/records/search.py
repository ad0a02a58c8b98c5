"""Search by time inside one stored batch: timestamps are read in place, keys and values jumped over (LO-11)."""

from collections.abc import Generator
from struct import Struct
from typing import cast

from fakebroker.protocol.records.batch import BatchHeader, parse_header
from fakebroker.protocol.records.batch_format import HEADER_BYTES
from fakebroker.protocol.records.compression import decompress_in_steps
from fakebroker.protocol.records.faults import InvalidRecord
from fakebroker.protocol.records.varint import decode_zigzag_varint

BEFORE_EVERY_TIMESTAMP = -(2**63)  # of what no search by time may find
RECORDS_PER_STEP = 150_000  # as many as SHORT_BYTES have at most: what is unpacked at once is searched at once
_MAX_COUNT = Struct(">35xq14xi")  # max timestamp, number of records

_Hit = tuple[int, int]  # offset, timestamp (ms)


def find_record(batch: bytes, target_ms: int, from_offset: int) -> Generator[None, None, _Hit | None]:
    """(offset, timestamp) of the first record at or after `from_offset` whose timestamp is >= `target_ms`, or None.

    A large batch is unpacked and searched in steps; each yields. In a batch of log append time every record has the
    batch's time (LO-15, LO-26). Raises InvalidRecord when the stored bytes do not parse, which only a test that
    corrupted them can bring about.
    """
    header = parse_header(batch)
    payload = batch[HEADER_BYTES : header.size_bytes]
    if header.codec:
        unpacked = yield from decompress_in_steps(header.codec, payload)
        payload = cast("bytes", unpacked)  # a bytearray will do here, and is not copied
    if not header.is_log_append_time:
        return (yield from _first_reaching(payload, header, target_ms - header.base_timestamp_ms, from_offset))
    if header.max_timestamp_ms < target_ms:
        return None
    first = yield from _first_reaching(payload, header, BEFORE_EVERY_TIMESTAMP, from_offset)
    return first and (first[0], header.max_timestamp_ms)


def max_timestamp_of(batch: bytes) -> int:
    """The largest timestamp (ms) that the header of a batch promises; BEFORE_EVERY_TIMESTAMP without records."""
    max_timestamp_ms: int
    max_timestamp_ms, count = _MAX_COUNT.unpack_from(batch)
    return max_timestamp_ms if count else BEFORE_EVERY_TIMESTAMP


def _first_reaching(
    payload: bytes, header: BatchHeader, least_delta: int, from_offset: int
) -> Generator[None, None, _Hit | None]:
    """(offset, timestamp) of the first record from `from_offset` on with a timestamp delta of at least `least_delta`.

    Raises InvalidRecord.
    """
    position, left = 0, header.records_count
    while left > 0:
        hit, position = _first_of(min(left, RECORDS_PER_STEP), payload, position, header, least_delta, from_offset)
        if hit is not None:
            return hit
        left -= RECORDS_PER_STEP
        if left > 0:
            yield
    return None


def _first_of(
    count: int, payload: bytes, position: int, header: BatchHeader, least_delta: int, from_offset: int
) -> tuple[_Hit | None, int]:
    """The hit among the `count` records at `position`, and the position after it or them.

    A flat loop like that of usual_records.py: varints of one and two bytes are read in place (batch_format.py draws a
    record), but of each record only its length and its timestamp delta. Raises InvalidRecord.
    """
    try:
        for _ in range(count):
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
                    return (offset, header.base_timestamp_ms + delta), position
            position += size
    except IndexError:
        raise InvalidRecord(f"the record at byte {position} of {len(payload)} is truncated") from None
    return None, position
