"""One flat loop over the records of a batch: what Kafka looks at on the way in, and nothing more (PD-14, PD-16, PD-17).

Every record that is produced passes here. The loop reads varints of one and two bytes in place and copies nothing; a
record with anything else in it (headers, big values, faults) goes to the exact decoder.
"""

from typing import NamedTuple

from fakebroker.records.batch import BatchHeader, parse_header, payload_of
from fakebroker.records.compression import DECOMPRESSED_LIMIT_BYTES
from fakebroker.records.faults import InvalidRecord
from fakebroker.records.record_codec import decode_record

_SMALLEST_RECORD_BYTES = 7


class Scan(NamedTuple):
    """What a batch holds, seen from outside of keys and values. Times are the records' own, whatever bit 3 says."""

    timestamp_deltas: list[int]  # to the header's base timestamp, one for each record
    min_timestamp_ms: int  # -1 without records
    max_timestamp_ms: int
    null_keys: list[int]  # indexes of the records without a key
    misplaced: int | None  # the first record whose offset delta is not its index, or None


class _Unusual(Exception):
    """This record is for the exact decoder."""


def scan(batch: bytes, header: BatchHeader | None = None, limit_bytes: int = DECOMPRESSED_LIMIT_BYTES) -> Scan:
    """Look at every record of one batch. Raises InvalidRecord (or BadCompression) saying which record is wrong how.

    Kafka lets wrong offset deltas pass in an uncompressed batch and answers -1 in a compressed one; `misplaced` leaves
    that to the caller. Everything else must add up exactly.
    """
    header = header or parse_header(batch)
    payload = payload_of(batch, header, limit_bytes)
    if not 0 <= header.records_count <= len(payload) // _SMALLEST_RECORD_BYTES:
        raise InvalidRecord(f"{header.records_count} records in {len(payload)} bytes")
    deltas: list[int] = []
    null_keys: list[int] = []
    end, misplaced = _scan_records(payload, header.records_count, deltas, null_keys)
    if end != len(payload):
        raise InvalidRecord(f"{len(payload) - end} bytes are left over behind {header.records_count} records")
    if not deltas:
        return Scan(deltas, -1, -1, null_keys, None)
    base_ms = header.base_timestamp_ms
    min_ms, max_ms = base_ms + min(deltas), base_ms + max(deltas)
    if min_ms < -(1 << 63) or max_ms >= 1 << 63:
        raise InvalidRecord(f"timestamps from {min_ms} to {max_ms} ms have no 64 bits")
    return Scan(deltas, min_ms, max_ms, null_keys, misplaced)


def _scan_records(data: bytes, count: int, deltas: list[int], null_keys: list[int]) -> tuple[int, int | None]:
    """Fill the lists; return the position behind the last record, and the first misplaced one.

    Long because it is flat: a call for each of the five varints would double the cost of Produce. `start` and `size`
    (twice the length, being zigzag) must agree with where the fields end, so an odd size never passes.
    """
    misplaced: int | None = None
    at = 0
    for index in range(count):
        record = at
        try:
            size = data[at]
            at += 1
            if size > 127:
                second = data[at]
                if second > 127:
                    raise _Unusual
                size = size & 127 | second << 7
                at += 1
            start = at
            delta = data[at + 1]  # behind the attributes, which have no meaning
            if delta > 127:
                at += 1
                second = data[at + 1]
                if second > 127:
                    raise _Unusual
                delta = delta & 127 | second << 7
            offset = data[at + 2]
            if offset > 127:
                at += 1
                second = data[at + 2]
                if second > 127:
                    raise _Unusual
                offset = offset & 127 | second << 7
            key = data[at + 3]
            at += 4
            if key > 127:
                second = data[at]
                if second > 127:
                    raise _Unusual
                key = key & 127 | second << 7
                at += 1
            if not key & 1:  # odd is below zero: null
                at += key >> 1
            value = data[at]
            at += 1
            if value > 127:
                second = data[at]
                if second > 127:
                    raise _Unusual
                value = value & 127 | second << 7
                at += 1
            if not value & 1:
                at += value >> 1
            at += 1
            if data[at - 1] or (at - start) << 1 != size:
                raise _Unusual
            deltas.append((delta >> 1) ^ -(delta & 1))
        except (IndexError, _Unusual):
            at, delta, place, blob, *_ = decode_record(data, record, index)
            deltas.append(delta)
            offset, key = place + place, blob is None
        if key & 1:
            null_keys.append(index)
        if offset != index + index and misplaced is None:
            misplaced = index
    return at, misplaced
