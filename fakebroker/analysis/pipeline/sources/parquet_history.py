"""Parquet of a sink by columns: what is exactly as sinks write it never becomes a Python object on the way."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute

from fakebroker.analysis.history.log_record import LogFile, LogRecord, Reject, sample_of
from fakebroker.analysis.history.parquet import read_batches, rows_in_ms
from fakebroker.analysis.history.sink_rows import TOPIC, BadRow, Shape, record_of, shape_of
from fakebroker.analysis.pipeline.arrow_decode import RAW_SCHEMA, ROWS_PER_BATCH

_TYPES = pa.types


def has_plain_columns(schema: Any, log_partition: int | None) -> bool:
    """Whether the columns of a file are of the types that most sinks write: binary keys and values, whole numbers."""
    try:
        names = shape_of(list(schema.names), has_partition=log_partition is not None).names
    except BadRow:
        return False
    are_clear = all(schema.names.count(name) == 1 for name in names.values())
    return are_clear and all(_is_plain(what, schema.field(name).type) for what, name in names.items())


def _is_plain(what: str, kind: Any) -> bool:
    match what:
        case "key" | "value":
            return bool(_TYPES.is_binary(kind) or _TYPES.is_large_binary(kind))
        case "topic":
            return bool(_TYPES.is_string(kind) or _TYPES.is_large_string(kind))
        case "timestamp":
            return bool(_TYPES.is_signed_integer(kind) or _TYPES.is_timestamp(kind))
        case _:
            return bool(_TYPES.is_signed_integer(kind))


def raw_batches(file: LogFile, groups: range) -> Iterator[Any | list[LogRecord | Reject]]:
    """The records in some row groups of a file with plain columns.

    Yields RecordBatches of RAW_SCHEMA, and lists of records and rejects where rows have to be judged one by one. What
    is damaged is a reject. Raises OSError when the file cannot be opened.
    """
    for found in read_batches(file, ROWS_PER_BATCH, groups):
        if isinstance(found, Reject):
            yield [found]
        else:
            yield raw_rows(found.batch, file, range(found.first, found.first + len(found.batch)))


def raw_rows(batch: Any, file: LogFile, positions: Sequence[int]) -> Any | list[LogRecord | Reject]:
    """Rows with plain columns as a RecordBatch of RAW_SCHEMA, or one by one if a row is not as it should be.

    Other columns may be among them. `positions` are the numbers of the rows in the file, from 1.
    Raises BadRow when a column is missing.
    """
    shape = shape_of(list(batch.schema.names), has_partition=file.log_partition is not None)
    raw = _raw_columns(batch, shape, file, positions)
    return _judged(batch, shape, file, positions) if raw is None else raw


def _raw_columns(batch: Any, shape: Shape, file: LogFile, positions: Sequence[int]) -> Any | None:
    """The rows as a RecordBatch of RAW_SCHEMA; None if a row is not as it should be."""
    columns = {what: batch.column(name) for what, name in shape.names.items()}
    count = len(batch)
    partition = columns.get("partition", pa.repeat(pa.scalar(file.log_partition, pa.int32()), count))
    if not (_are_numbers(partition, 2**31) and _are_numbers(columns["offset"], 2**63)):
        return None
    topic = columns.get("topic")
    if topic is not None and compute.all(compute.ends_with(topic, TOPIC)).as_py() is False:
        return None
    found = {
        "source": pa.repeat(pa.scalar(file.source), count),
        "file": pa.repeat(pa.scalar(str(file.path)), count),
        "position": _numbers(positions),
        "log_partition": partition.cast(pa.int32()),
        "log_offset": columns["offset"].cast(pa.int64()),
        "at_ms": _times_ms(columns.get("timestamp"), count),
        "key": columns["key"].cast(pa.binary()),
        "value": columns["value"].cast(pa.binary()) if "value" in columns else pa.nulls(count, pa.binary()),
        "is_transactional": pa.repeat(pa.scalar(False), count),
    }
    arrays = [found.get(field.name, pa.nulls(count, field.type)) for field in RAW_SCHEMA]
    return pa.RecordBatch.from_arrays(arrays, schema=RAW_SCHEMA)


def _numbers(positions: Sequence[int]) -> Any:
    if isinstance(positions, range):
        return pa.array(np.arange(positions.start, positions.stop))
    return pa.array(positions, pa.int64())


def _are_numbers(column: Any, limit: int) -> bool:
    """Whether all are numbers from 0 on, below a limit."""
    if column.null_count or not len(column):
        return not column.null_count
    bounds = compute.min_max(column)
    return bool(bounds["min"].as_py() >= 0 and bounds["max"].as_py() < limit)


def _times_ms(column: Any | None, count: int) -> Any:
    """Timestamps as numbers of ms; -1 is none."""
    if column is None:
        return pa.nulls(count, pa.int64())
    if _TYPES.is_timestamp(column.type):
        column = column.cast(pa.timestamp("ms"), safe=False)
    column = column.cast(pa.int64())
    return compute.if_else(compute.equal(column, -1), pa.scalar(None, pa.int64()), column)


def _judged(batch: Any, shape: Shape, file: LogFile, positions: Sequence[int]) -> list[LogRecord | Reject]:
    """The rows one by one, as `fakebroker.analysis.history.parquet` reads them."""
    found: list[LogRecord | Reject] = []
    for position, row in zip(positions, rows_in_ms(batch), strict=True):
        try:
            found.append(record_of(row, shape, file, position))
        except BadRow as fault:
            found.append(file.reject(position, str(fault), sample_of(str(row))))
    return found
