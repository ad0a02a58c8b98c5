"""Rows of a table as Parquet files and back: a row is a dict by column, a timestamp a number of milliseconds."""

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import count, islice
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from fakebroker.analysis.pipeline.contract import ColumnType, Row, Table
from fakebroker.analysis.pipeline.storage_failures import storage_failures_reported

Rows = list[Row]

ROWS_A_FILE: Final = 1_000_000
ROWS_AT_ONCE: Final = 20_000
ROWS_OF_A_BATCH: Final = 2_000  # which functions of recipes make
_TIMESTAMP, _IN_MS = pa.timestamp("us", tz="UTC"), pa.timestamp("ms", tz="UTC")
ARROW_TYPES: Final[dict[ColumnType, pa.DataType]] = {
    "string": pa.string(),
    "int": pa.int32(),
    "long": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "timestamp": _TIMESTAMP,
    "strings": pa.list_(pa.string()),
}


def arrow_schema(table: Table) -> pa.Schema:
    """The columns of a table as Arrow has them; timestamps in microseconds, as Spark writes them."""
    return _schema(table, _TIMESTAMP)


def _schema(table: Table, of_times: pa.DataType) -> pa.Schema:
    kinds = {**ARROW_TYPES, "timestamp": of_times}
    return pa.schema([(column.name, kinds[column.type]) for column in table.columns])


def to_arrow(table: Table, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Rows as an Arrow table. A column that a row does not have is null there."""
    return pa.Table.from_pylist(list(rows), schema=_schema(table, _IN_MS)).cast(arrow_schema(table))


def from_arrow(data: pa.Table) -> Rows:
    """The rows of an Arrow table."""
    times = [field.name for field in data.schema if pa.types.is_timestamp(field.type)]
    for kind in (_IN_MS, pa.int64()):
        fields = [field.with_type(kind) if field.name in times else field for field in data.schema]
        data = data.cast(pa.schema(fields), safe=False)
    rows: Rows = data.to_pylist()
    return rows


def rows_of(batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
    """The rows of batches, in which times are numbers."""
    for batch in batches:
        yield from batch.to_pylist()


def batches_of(table: Table, rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    """The rows of a table in batches, times as numbers of milliseconds. A column that a row does not have is null."""
    schema, coming = _schema(table, pa.int64()), iter(rows)
    while found := list(islice(coming, ROWS_OF_A_BATCH)):
        yield pa.RecordBatch.from_pylist(found, schema=schema)


def write_rows(table: Table, rows: Iterable[Mapping[str, Any]], folder: Path) -> int:
    """Write rows as Parquet files into `folder`, which is made; returns how many. There is always a file.

    Names of files are new each time, so that files of several writes can stand beside each other. No more than
    ROWS_AT_ONCE rows are taken from `rows` before they are written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    coming, write, written = iter(rows), os.urandom(6).hex(), 0
    for number in count():
        of_file = _write_file(table, islice(coming, ROWS_A_FILE), folder / f"part-{number:05}-{write}.parquet")
        written += of_file
        if of_file < ROWS_A_FILE:
            return written
    raise AssertionError


def _write_file(table: Table, rows: Iterator[Mapping[str, Any]], path: Path) -> int:
    written = 0
    with pq.ParquetWriter(path, arrow_schema(table), compression="zstd") as file:
        while batch := list(islice(rows, ROWS_AT_ONCE)):
            file.write_table(to_arrow(table, batch))
            written += len(batch)
    return written


def read_rows(table: Table, folder: Path) -> Rows:
    """The rows of a table in `folder`; none if there is no such folder. Raises FakebrokerError for damaged files."""
    files = [str(file) for file in parquet_files(folder)]
    if not files:
        return []
    with storage_failures_reported(str(folder)):
        return from_arrow(pq.read_table(files, schema=arrow_schema(table)))


def parquet_files(folder: Path) -> list[Path]:
    """The Parquet files of a table, in the order of their names."""
    return sorted(folder.glob("*.parquet"))


def count_rows(folder: Path) -> int:
    """How many rows the files of a table say that they have. Raises FakebrokerError for one that is no Parquet file."""
    rows = 0
    for file in parquet_files(folder):
        with storage_failures_reported(str(file)):
            rows += pq.read_metadata(file).num_rows
    return rows
