"""Columns of records as Arrow record batches in the schema of the source."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fakebroker.analysis.pipeline.kafka_source.record_columns import Columns
from fakebroker.protocol.errors import FakebrokerError
from fakebroker.protocol.records.offsets_topic import TopicPartition

ROWS_AT_ONCE: Final = 65_536
_MAX_TIMESTAMP_MS: Final = (2**63 - 1) // 1_000


def record_batches(schema: Any, partition: TopicPartition, columns: Columns, start: int, end: int) -> Iterator[Any]:
    """The records with offsets from `start` up to `end`, as Arrow record batches of `schema`."""
    wanted = np.flatnonzero((columns.offsets >= start) & (columns.offsets < end))
    if not wanted.size:
        return
    gaps = _binary_with_gaps(columns)
    for first in range(0, wanted.size, ROWS_AT_ONCE):
        yield _batch(schema, partition, columns, gaps, wanted[first : first + ROWS_AT_ONCE])


def _batch(schema: Any, partition: TopicPartition, columns: Columns, gaps: Any, rows: Any) -> Any:
    count = rows.size
    times_ms = columns.timestamps_ms[rows]
    if (np.abs(times_ms) > _MAX_TIMESTAMP_MS).any():
        offset = int(columns.offsets[rows][np.argmax(np.abs(times_ms))])
        text = f"{partition}, offset {offset}: the timestamp {np.abs(times_ms).max()} ms does not fit a TIMESTAMP"
        raise FakebrokerError(f"{text}; producers must set milliseconds")
    arrays = {
        "key": gaps.take(_indexes(rows * 4, columns.null_keys[rows])),
        "value": gaps.take(_indexes(rows * 4 + 2, columns.null_values[rows])),
        "topic": pa.repeat(pa.scalar(partition.topic, pa.string()), count),
        "partition": pa.repeat(pa.scalar(partition.partition, pa.int32()), count),
        "offset": pa.array(columns.offsets[rows]),
        "timestamp": pa.array(times_ms * 1_000).view(pa.timestamp("us", tz="UTC")),
        "timestampType": pa.array(columns.timestamp_types[rows]),
    }
    if "headers" in schema.names:
        arrays["headers"] = _headers(schema.field("headers").type, columns, rows)
    return pa.RecordBatch.from_arrays([arrays[name] for name in schema.names], schema=schema)


def _binary_with_gaps(columns: Columns) -> Any:
    """An array over the records' bytes as they are: a key, what is between, a value, what is between, and so on.

    Keys and values are then taken out of it by Arrow, without a Python object for any of them.
    """
    bounds = np.empty(4 * columns.offsets.size + 1, np.int64)
    bounds[0:-1:4], bounds[1::4] = columns.key_starts, columns.key_ends
    bounds[2::4], bounds[3::4] = columns.value_starts, columns.value_ends
    bounds[-1] = len(columns.data)
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(columns.data)]
    return pc.cast(pa.Array.from_buffers(pa.large_binary(), bounds.size - 1, buffers), pa.binary())


def _indexes(rows: Any, nulls: Any) -> Any:
    return pa.array(rows, mask=nulls if nulls.any() else None)


def _headers(kind: Any, columns: Columns, rows: Any) -> Any:
    """Headers, null for a record without any. A name that is not UTF-8 has replacement characters."""
    found = [columns.headers.get(int(row)) for row in rows] if columns.headers else [None] * rows.size
    return pa.array(
        [
            None if each is None else [{"key": name.decode("utf-8", "replace"), "value": value} for name, value in each]
            for each in found
        ],
        kind,
    )
