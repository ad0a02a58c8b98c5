"""The scan of a produced batch: checks of every record as Kafka makes them on append (PD-14, PD-16, PD-17).

Every record that is produced passes here, so this is the hottest loop of Produce. A record is checked in one of three
ways, from cheap to dear; batch_format.py draws a record:

1. By columns (record_runs.py): many records that are laid out alike, all at once.
2. One by one in a flat loop (usual_records.py): the fields of a record are read all at once, nothing is copied.
3. By `decode_record`, the exact decoder: "unusual" records, which are those with headers, with longer varints, and all
   that are wrong. It alone raises InvalidRecord, so what is wrong is said in one place.
"""

from collections.abc import Generator, Sequence
from typing import Final, NamedTuple, cast

from fakebroker.protocol.records.batch import BatchHeader, parse_header, payload_of
from fakebroker.protocol.records.batch_format import CODEC_BITS, HEADER_BYTES, LENGTH_END, NO_TIMESTAMP
from fakebroker.protocol.records.compression import DECOMPRESSED_LIMIT_BYTES, decompress_in_steps
from fakebroker.protocol.records.faults import InvalidRecord
from fakebroker.protocol.records.record_codec import decode_record
from fakebroker.protocol.records.record_runs import FEWEST_IN_RUN, scan_run
from fakebroker.protocol.records.usual_records import NO_DELTAS, scan_usual

RECORDS_PER_STEP = 20_000
FIELDS_PER_STEP = 5_000  # of unusual records, which have any number of headers; the others have few
_SHORT_FIELDS = 8_000
_RECORD_COSTS_FIELDS = 3  # what an unusual record counts as, beside its headers
_UNBOUNDED = 1 << 62
_PAUSE_AFTER_NO_RUN = 64  # records

_SMALLEST_RECORD_BYTES = 7  # length, attributes, two deltas, two lengths, number of headers: a byte each


_Part = tuple[int, int, int, int, bool, int | None]
"""What was seen of some records that follow one another: the position after the last, the index of the record there,
lowest and highest timestamp delta (ms), whether there is a null key, and the misplaced record as in Scan."""


class Recompressed(NamedTuple):
    """The batch in another compression, which took steps."""

    codec: int
    level: int | None
    batch: bytes


LATER: Final = Recompressed(-1, None, b"")
"""In the result of a short scan: if the batch has to be packed, and that takes long, it should be done in steps."""


class Scan(NamedTuple):
    """What is known of a batch's records after a scan. Timestamps are the records' own, also with LogAppendTime."""

    min_timestamp_ms: int  # -1 without records
    max_timestamp_ms: int
    has_null_key: bool
    misplaced: int | None  # the first record whose offset delta is not its index, or None
    size_bytes: int  # of the records, unpacked
    recompressed: "Recompressed | None" = None


class LongScan(Exception):
    """There is more to scan than fits into one step."""


def scan(batch: bytes, header: BatchHeader | None = None, limit_bytes: int = DECOMPRESSED_LIMIT_BYTES) -> Scan:
    """Scan all records of one batch in a single step, unpacked to at most `limit_bytes`.

    Raises InvalidRecord saying which record is wrong how; BadCompression, TooLarge. Wrong offset deltas are no error
    here but `Scan.misplaced`: Kafka lets them pass in an uncompressed batch, in a compressed one it answers
    UNKNOWN_SERVER_ERROR.
    """
    header = header or parse_header(batch)
    if _is_scanned_in_place(batch, header):
        return _scanned(batch, HEADER_BYTES, header, _UNBOUNDED)
    return _scanned(payload_of(batch, header, limit_bytes), 0, header, _UNBOUNDED)


def short_scan(batch: bytes, header: BatchHeader) -> Scan:
    """As `scan`, but raises LongScan for what takes longer than some milliseconds.

    That are many records, many headers, and much to unpack, or in many pieces.
    """
    if header.records_count > RECORDS_PER_STEP:
        raise LongScan
    if _is_scanned_in_place(batch, header):
        return _scanned(batch, HEADER_BYTES, header, _SHORT_FIELDS)
    return _scanned(_short_payload(batch, header), 0, header, _SHORT_FIELDS)


def _is_scanned_in_place(batch: bytes, header: BatchHeader) -> bool:
    """Whether the records need not be copied out of the batch: they are not compressed, and nothing follows them."""
    return not header.attributes & CODEC_BITS and header.length + LENGTH_END == len(batch)


def _short_payload(batch: bytes, header: BatchHeader) -> bytes:
    """The records as bytes, unpacked in a single step. Raises LongScan, BadCompression."""
    data, codec = batch[HEADER_BYTES : header.size_bytes], header.attributes & CODEC_BITS
    if not codec:
        return data
    try:
        next(decompress_in_steps(codec, data))
    except StopIteration as end:
        return cast("bytes", end.value)  # a bytearray will do here, and is not copied
    raise LongScan


def _scanned(data: bytes, start: int, header: BatchHeader, fields: int) -> Scan:
    """The scan of records from position `start` on. Raises LongScan for unusual records of more `fields`."""
    size_bytes = len(data)
    count = _checked_count(header, size_bytes - start)
    part = _scan_records(data, start, 0, count, fields)
    if part[1] < count:
        raise LongScan
    return _result(header, data, start, part, None if fields == _UNBOUNDED else LATER)


def scan_in_steps(
    batch: bytes, header: BatchHeader, limit_bytes: int = DECOMPRESSED_LIMIT_BYTES
) -> Generator[None, None, Scan]:
    """As `scan`, in as many steps as it takes; each yields, the first before anything is unpacked or copied. It returns
    the scan.
    """
    yield
    data = batch[HEADER_BYTES : header.size_bytes]
    codec = header.attributes & CODEC_BITS
    if codec:
        unpacked = yield from decompress_in_steps(codec, data, limit_bytes)
        data = cast("bytes", unpacked)  # a bytearray will do here, and is not copied
        yield
    count = _checked_count(header, len(data))
    parts = [_scan_records(data, 0, 0, min(RECORDS_PER_STEP, count), FIELDS_PER_STEP)]
    while parts[-1][1] < count:
        yield
        at, index = parts[-1][:2]
        parts.append(_scan_records(data, at, index, min(index + RECORDS_PER_STEP, count), FIELDS_PER_STEP))
    return _result(header, data, 0, _joined(parts), None)


def _checked_count(header: BatchHeader, size_bytes: int) -> int:
    """The number of records that the header tells. Raises InvalidRecord if so many do not fit into the bytes."""
    count = header.records_count
    if not 0 <= count <= size_bytes // _SMALLEST_RECORD_BYTES:
        raise InvalidRecord(f"{count} records do not fit into {size_bytes} bytes")
    return count


def _result(header: BatchHeader, data: bytes, start: int, part: _Part, recompressed: Recompressed | None) -> Scan:
    """The scan of a batch from what was seen of all its records, which must end where the data ends.

    Raises InvalidRecord.
    """
    end, count, low_delta, high_delta, has_null_key, misplaced = part
    if end != len(data):
        raise InvalidRecord(f"{len(data) - end} bytes follow the last of {count} records")
    if not count:
        return Scan(NO_TIMESTAMP, NO_TIMESTAMP, False, None, 0)
    base_ms = header.base_timestamp_ms
    min_ms, max_ms = base_ms + low_delta, base_ms + high_delta
    if min_ms < -(1 << 63) or max_ms >= 1 << 63:
        raise InvalidRecord(f"timestamps from {min_ms} to {max_ms} ms do not fit into 64 bits")
    seen = min_ms, max_ms, has_null_key, misplaced, end - start, recompressed
    return tuple.__new__(Scan, seen)  # as Scan(*seen), in half the time


def _joined(parts: Sequence[_Part]) -> _Part:
    """What was seen of several runs of records that follow one another, as one."""
    _, _, lows, highs, null_keys, misplaced = zip(*parts, strict=True)
    end, index, *_ = parts[-1]
    return end, index, min(lows), max(highs), any(null_keys), next((at for at in misplaced if at is not None), None)


def _scan_records(data: bytes, at: int, index: int, count: int, fields: int) -> _Part:
    """Scan the records from the `index`-th, which is at position `at`, up to but without the `count`-th.

    Ends earlier after an unusual record with which these have as many `fields` or more. Raises InvalidRecord.
    """
    low, high = NO_DELTAS
    has_null_key, misplaced = False, None
    try_run_at = index
    while index < count:
        begin, run = index, None
        if index >= try_run_at and count - index >= FEWEST_IN_RUN:
            run = scan_run(data, at, index, count)
            if run is None:
                try_run_at = index + _PAUSE_AFTER_NO_RUN
        at, index, least, most, is_null = run or scan_usual(data, at, index, count)
        if index == begin:
            at, delta, offset, is_null, headers = _decode_unusual(data, at, index)
            least = most = delta
            if offset != index and misplaced is None:
                misplaced = index
            index += 1
            fields -= _RECORD_COSTS_FIELDS + headers
            if fields <= 0:
                count = index
        if is_null:
            has_null_key = True
        if most > high:
            high = most
        if least < low:
            low = least
    return at, index, low, high, has_null_key, misplaced


def _decode_unusual(data: bytes, record: int, index: int) -> tuple[int, int, int, bool, int]:
    """(position after it, timestamp delta, offset delta, whether the key is null, headers) of the record at `record`.

    Raises InvalidRecord. Key and value are decoded only to be thrown away. A memoryview does not copy them, but costs
    more than copying short ones: it pays for records whose length has three bytes or more.
    """
    is_large = min(data[record : record + 3], default=0) > 127
    view = cast("bytes", memoryview(data)) if is_large else data
    end, timestamp_delta, offset_delta, key, _, headers = decode_record(view, record, index)
    return end, timestamp_delta, offset_delta, key is None, len(headers)
