"""One flat loop over the records of a batch: what Kafka looks at on the way in, and nothing more (PD-14, PD-16, PD-17).

Every record that is produced passes here. The loop reads varints of one and two bytes in place and copies nothing; a
record with anything else in it (headers, big values, faults) goes to the exact decoder. Where records follow that are
laid out alike, their headers are looked at column by column, all at once.
"""

from collections.abc import Generator, Sequence
from typing import NamedTuple, cast

from fakebroker.records.batch import BatchHeader, parse_header, payload_of
from fakebroker.records.compression import DECOMPRESSED_LIMIT_BYTES, STEP_BYTES, decompress_in_steps
from fakebroker.records.faults import InvalidRecord, TooLarge
from fakebroker.records.layout import CODEC_BITS, HEADER_BYTES, LENGTH_END
from fakebroker.records.record_codec import decode_record
from fakebroker.records.record_runs import NO_RUN, run_behind

RECORDS_PER_STEP = 20_000
_BYTES_PER_STEP = 1 << 20  # of unusual records

_SMALLEST_RECORD_BYTES = 7


class _Part(NamedTuple):
    """What was seen of some records that follow one another."""

    end: int  # the position behind the last
    next: int  # the index of the record there
    low_delta: int  # lowest and highest timestamp delta
    high_delta: int
    has_null_key: bool
    misplaced: int | None


class Scan(NamedTuple):
    """What a batch holds, seen from outside of keys and values. Times are the records' own, whatever bit 3 says."""

    min_timestamp_ms: int  # -1 without records
    max_timestamp_ms: int
    has_null_key: bool
    misplaced: int | None  # the first record whose offset delta is not its index, or None
    size_bytes: int  # of the records, unpacked


class LongScan(Exception):
    """There is more to look at than fits into one step."""


class _Unusual(Exception):
    """This record is for the exact decoder."""


def scan(batch: bytes, header: BatchHeader | None = None, limit_bytes: int = DECOMPRESSED_LIMIT_BYTES) -> Scan:
    """Look at every record of one batch. Raises InvalidRecord (or BadCompression) saying which record is wrong how.

    Kafka lets wrong offset deltas pass in an uncompressed batch and answers -1 in a compressed one; `misplaced` leaves
    that to the caller. Everything else must add up exactly.
    """
    header = header or parse_header(batch)
    if header.attributes & CODEC_BITS or header.length + LENGTH_END != len(batch):
        data, start = payload_of(batch, header, limit_bytes), 0
    else:
        data, start = batch, HEADER_BYTES  # where they are
    _check_count(header, len(data) - start)
    return _result(header, data, start, [_scan_records(data, start, 0, header.records_count, len(data))])


def short_scan(batch: bytes, header: BatchHeader) -> Scan:
    """The same in a single step. Raises LongScan if that would be too long."""
    if header.records_count > RECORDS_PER_STEP:
        raise LongScan
    try:
        return scan(batch, header, STEP_BYTES)
    except TooLarge:
        raise LongScan from None


def scan_in_steps(
    batch: bytes, header: BatchHeader, limit_bytes: int = DECOMPRESSED_LIMIT_BYTES
) -> Generator[None, None, Scan]:
    """The same in as many steps as it takes."""
    data = batch[HEADER_BYTES : header.size_bytes]
    codec = header.attributes & CODEC_BITS
    if codec:
        unpacked = yield from decompress_in_steps(codec, data, limit_bytes)
        data = cast("bytes", unpacked)  # a bytearray does what is asked of it here, and need not be copied
        yield
    count = header.records_count
    _check_count(header, len(data))
    at = index = 0
    parts: list[_Part] = []
    while index < count:
        parts.append(_scan_records(data, at, index, min(index + RECORDS_PER_STEP, count), at + _BYTES_PER_STEP))
        at, index = parts[-1].end, parts[-1].next
        yield
    return _result(header, data, 0, parts)


def _check_count(header: BatchHeader, size_bytes: int) -> None:
    if not 0 <= header.records_count <= size_bytes // _SMALLEST_RECORD_BYTES:
        raise InvalidRecord(f"{header.records_count} records in {size_bytes} bytes")


def _result(header: BatchHeader, data: bytes, start: int, parts: Sequence[_Part]) -> Scan:
    """What the parts of a batch say together; they must end where the data ends."""
    end = parts[-1].end if parts else start
    if end != len(data):
        raise InvalidRecord(f"{len(data) - end} bytes are left over behind {header.records_count} records")
    size_bytes = end - start
    if not header.records_count:
        return Scan(-1, -1, False, None, size_bytes)
    min_ms = header.base_timestamp_ms + min(part.low_delta for part in parts)
    max_ms = header.base_timestamp_ms + max(part.high_delta for part in parts)
    if min_ms < -(1 << 63) or max_ms >= 1 << 63:
        raise InvalidRecord(f"timestamps from {min_ms} to {max_ms} ms have no 64 bits")
    misplaced = next((part.misplaced for part in parts if part.misplaced is not None), None)
    return Scan(min_ms, max_ms, any(part.has_null_key for part in parts), misplaced, size_bytes)


def _scan_records(data: bytes, at: int, index: int, count: int, until: int) -> _Part:
    """The records from the `index`-th, at `at`, up to the `count`-th, or to an unusual one that ends after `until`.


    Long because it is flat: a call for each of the five varints would double the cost of Produce. Numbers are left in
    zigzag: twice the value, odd below zero. A size must agree with where the fields end, so an odd one never passes.
    """
    low, high, odd_keys, misplaced = NO_RUN[1], NO_RUN[2], 0, None
    step, first = 0, index
    while index < count:
        record = at
        try:
            size = data[at]
            if size > 127:
                at += 1
                if (second := data[at]) > 127:
                    raise _Unusual
                size += (second << 7) - 128
            end = at + 1 + (size >> 1)
            delta = data[at + 2]  # behind the attributes, which have no meaning
            if delta > 127:
                at += 1
                if (second := data[at + 2]) > 127:
                    raise _Unusual
                delta += (second << 7) - 128
            offset = data[at + 3]
            if offset > 127:
                at += 1
                if (second := data[at + 3]) > 127:
                    raise _Unusual
                offset += (second << 7) - 128
            key = data[at + 4]
            at += 5
            if key > 127:
                if (second := data[at]) > 127:
                    raise _Unusual
                key += (second << 7) - 128
                at += 1
            if not key & 1:  # odd is below zero: null
                at += key >> 1
            value = data[at]
            at += 1
            if value > 127:
                if (second := data[at]) > 127:
                    raise _Unusual
                value += (second << 7) - 128
                at += 1
            at += 1 if value & 1 else 1 + (value >> 1)
            if at != end or data[at - 1] or offset != index + index or (size | delta) & 1:
                raise _Unusual
            if at - record != step and index > first:
                step = at - record
            elif data[at : at + 1] == data[record : record + 1]:  # a run begins, perhaps
                step = at - record
                alike, least, most = run_behind(data, record, step, index, count - index - 1)
                index, at = index + alike, at + alike * step
                low, high = min(low, least), max(high, most)
        except (IndexError, _Unusual):
            view = cast("bytes", memoryview(data))  # slices of it are no copies
            is_large = min(data[record : record + 3], default=0) > 127  # its size has three bytes or more
            at, delta, place, blob, *_ = decode_record(view if is_large else data, record, index)
            delta += delta
            key, step = blob is None, 0
            if place != index and misplaced is None:
                misplaced = index
            if at > until:
                count = index + 1
        odd_keys |= key
        if delta > high:
            high = delta
        if delta < low:
            low = delta
        index += 1
    return _Part(at, index, low >> 1, high >> 1, bool(odd_keys & 1), misplaced)
