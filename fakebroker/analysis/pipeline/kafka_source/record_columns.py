"""Record batches as columns: where keys and values are is found for all records at once, and nothing is copied twice.

A walk over the lengths of the records gives their beginnings, by columns where records are as long as the ones before
them. Everything else of a record is read with numpy, one field of all records after another.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from fakebroker.client.cluster.cluster_client import Fetched
from fakebroker.client.cluster.offset_ranges import committed_entries
from fakebroker.protocol.records.batch import check_crc, parse_header, payload_of
from fakebroker.protocol.records.faults import InvalidRecord
from fakebroker.protocol.records.message_set import read_message_set, unwrap
from fakebroker.protocol.records.record_codec import Record, decode_record, decode_records

_MAX_VARINT_BYTES: Final = 10
_FIRST_RUN, _LONGEST_RUN = 16, 4096  # records that are looked at together, at first and at most
CREATE_TIME, LOG_APPEND_TIME, NO_TIMESTAMP_TYPE = 0, 1, -1


class Columns(NamedTuple):
    """Records side by side. `data` has their bytes; positions are in it, and arrays of the records' number.

    A null key or value has no bytes, and is marked in the mask. `headers` has the records that have any, by index.
    """

    data: bytes
    offsets: Any
    timestamps_ms: Any
    timestamp_types: Any
    key_starts: Any
    key_ends: Any
    null_keys: Any
    value_starts: Any
    value_ends: Any
    null_values: Any
    headers: dict[int, Sequence[tuple[bytes, bytes | None]]]


class _Batch(NamedTuple):
    """The records of one batch, unpacked, and what its header says of all of them."""

    payload: bytes
    record_count: int
    base_offset: int
    base_timestamp_ms: int
    append_time_ms: int | None


def columns_of(fetched: Fetched) -> Iterator[Columns]:
    """The committed records of a Fetch answer. Raises InvalidRecord, CorruptBatch, BadCompression."""
    batches: list[_Batch] = []
    for position, size_bytes, magic in committed_entries(fetched):
        data = fetched.records[position : position + size_bytes]
        if magic >= 2:
            batches.append(_batch(data))
            continue
        if batches:
            yield _columns(batches)
            batches = []
        yield _old_columns(data)
    if batches:
        yield _columns(batches)


def _batch(data: bytes) -> _Batch:
    header = parse_header(data)
    check_crc(data, header)
    payload = payload_of(data, header)
    if not 0 <= header.records_count <= len(payload):
        raise InvalidRecord(f"{header.records_count} records in {len(payload)} bytes at offset {header.base_offset}")
    append_time_ms = header.max_timestamp_ms if header.is_log_append_time else None
    return _Batch(payload, header.records_count, header.base_offset, header.base_timestamp_ms, append_time_ms)


def _columns(batches: list[_Batch]) -> Columns:
    data = b"".join(batch.payload for batch in batches)
    starts: list[int] = []
    at = 0
    for batch in batches:
        end = at + len(batch.payload)
        if record_starts(data, at, end, batch.record_count, starts) != end:
            return _slow_columns(batches)
        at = end
    try:
        return _fast_columns(data, np.array(starts, np.int64), batches)
    except _Irregular:
        return _slow_columns(batches)


class _Irregular(Exception):
    """Something does not add up: the exact decoder says what."""


def record_starts(data: bytes, at: int, end: int, count: int, starts: list[int]) -> int:
    """Add the positions of `count` records to `starts`; the position after them, -1 if they do not fit before `end`."""
    run = _FIRST_RUN
    left = count
    while left > 0:
        if at >= end:
            return -1
        size = first = data[at]
        second = -1
        step = at
        if size > 127:
            shift, size = 7, size & 127
            while True:
                step += 1
                if step >= end or shift > 28:
                    return -1
                size |= (data[step] & 127) << shift
                shift += 7
                if data[step] < 128:
                    break
            second = data[step] if step == at + 1 else -2
        step += 1 - at + (size >> 1)
        if size & 1:
            return -1
        starts.append(at)
        left -= 1
        alike = 0
        if left and second != -2 and data[at + step : at + step + 1] == data[at : at + 1]:
            most = min(left, run, (end - at) // step - 1)
            span = at + step * most + 1
            column = data[at + step : span : step]
            alike = len(column) - len(column.lstrip(bytes((first,))))
            if second >= 0:
                column = data[at + step + 1 : span + 1 : step]
                alike = min(alike, len(column) - len(column.lstrip(bytes((second,)))))
            run = min(2 * run, _LONGEST_RUN) if alike == most else _FIRST_RUN
            starts.extend(range(at + step, at + step * alike + 1, step))
            left -= alike
        at += step * (alike + 1)
    return at if at <= end else -1


def _fast_columns(data: bytes, starts: Any, batches: list[_Batch]) -> Columns:
    """All fields at once. Raises _Irregular for records that are wrong in themselves."""
    counts = [batch.record_count for batch in batches]
    array = np.frombuffer(data, np.uint8)
    ends = np.append(starts[1:], len(data))
    try:
        _, at = _varints(array, starts)
        time_deltas, at = _varints(array, at + 1)
        offset_deltas, at = _varints(array, at)
        key_sizes, at = _varints(array, at)
        null_keys, key_ends = key_sizes < 0, at + np.maximum(key_sizes, 0)
        key_starts = at
        value_sizes, at = _varints(array, key_ends)
        null_values, value_ends = value_sizes < 0, at + np.maximum(value_sizes, 0)
        value_starts = at
        header_counts, at = _varints(array, value_ends)
    except IndexError:
        raise _Irregular from None
    plain = header_counts == 0
    if (at > ends).any() or (at[plain] != ends[plain]).any() or (header_counts < 0).any():
        raise _Irregular
    append_times = np.repeat([-1 if each.append_time_ms is None else each.append_time_ms for each in batches], counts)
    is_append_time = np.repeat([each.append_time_ms is not None for each in batches], counts)
    created = np.repeat(np.array([each.base_timestamp_ms for each in batches], np.int64), counts) + time_deltas
    headers = {int(index): decode_record(data, int(starts[index]), 0)[5] for index in np.flatnonzero(~plain)}
    return Columns(
        data,
        np.repeat(np.array([each.base_offset for each in batches], np.int64), counts) + offset_deltas,
        np.where(is_append_time, append_times, created),
        np.where(is_append_time, LOG_APPEND_TIME, CREATE_TIME).astype(np.int32),
        key_starts,
        key_ends,
        null_keys,
        value_starts,
        value_ends,
        null_values,
        headers,
    )


def _varints(array: Any, at: Any) -> tuple[Any, Any]:
    """The zigzag varints at these positions, and the positions after them. Raises IndexError outside of the bytes."""
    byte = array[at]
    found = (byte & 127).astype(np.int64)
    at = at + 1
    more = np.flatnonzero(byte > 127)
    shift = 7
    while more.size:
        if shift >= 7 * _MAX_VARINT_BYTES:
            raise IndexError
        byte = array[at[more]]
        found[more] |= (byte & 127).astype(np.int64) << shift
        at[more] += 1
        more = more[byte > 127]
        shift += 7
    unsigned = found.view(np.uint64)
    return (unsigned >> np.uint64(1)).view(np.int64) ^ -(found & 1), at


def _slow_columns(batches: Iterable[_Batch]) -> Columns:
    """The same, record by record. Raises InvalidRecord, which says what is wrong where."""
    records: list[Record] = []
    types: list[int] = []
    for batch in batches:
        try:
            records += decode_records(*batch)
        except InvalidRecord as error:
            raise InvalidRecord(f"the batch at offset {batch.base_offset}, {error.message}") from None
        kind = CREATE_TIME if batch.append_time_ms is None else LOG_APPEND_TIME
        types += [kind] * (len(records) - len(types))
    return _from_records(records, types)


def _old_columns(data: bytes) -> Columns:
    """The records of a message of formats 0 and 1."""
    records, types = [], []
    for message in read_message_set(data):
        for each in unwrap(message):
            records.append(Record(each.offset, each.timestamp_ms, each.key, each.value))
            is_append = message.is_log_append_time
            types.append(NO_TIMESTAMP_TYPE if each.magic == 0 else LOG_APPEND_TIME if is_append else CREATE_TIME)
    return _from_records(records, types)


def _from_records(records: list[Record], types: list[int]) -> Columns:
    parts = [part or b"" for record in records for part in (record.key, record.value)]
    bounds = np.concatenate(([0], np.cumsum([len(part) for part in parts], dtype=np.int64))).astype(np.int64)
    return Columns(
        b"".join(parts),
        np.array([record.offset for record in records], np.int64),
        np.array([record.timestamp_ms for record in records], np.int64),
        np.array(types, np.int32),
        bounds[0:-1:2],
        bounds[1::2],
        np.array([record.key is None for record in records], bool),
        bounds[1::2],
        bounds[2::2],
        np.array([record.value is None for record in records], bool),
        {index: list(record.headers) for index, record in enumerate(records) if record.headers},
    )
