"""Rows of a table as Parquet files and back: a row is a dict by column, a timestamp a number of milliseconds."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count, islice
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from fakebroker.analysis.pipeline.contract import ColumnType, Table
from fakebroker.analysis.pipeline.storage_failures import storage_failures_reported

if TYPE_CHECKING:
    import pyarrow.dataset as ds

Row = dict[str, Any]
Rows = list[Row]

ROWS_A_FILE: Final = 1_000_000
ROWS_AT_ONCE: Final = 20_000
_TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
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
    return pa.schema([pa.field(column.name, ARROW_TYPES[column.type]) for column in table.columns])


def to_arrow(table: Table, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows as an Arrow table. A column that a row does not have is null there."""
    columns = []
    for column in table.columns:
        values = _values(rows, column.name)
        if column.type == "timestamp":
            values = [None if value is None else value * 1000 for value in values]
        columns.append(pa.array(values, ARROW_TYPES[column.type]))
    return pa.table(columns, schema=arrow_schema(table))


def _values(rows: Sequence[Mapping[str, Any]], name: str) -> list[Any]:
    """A column; nearly always each row has it."""
    try:
        return list(map(itemgetter(name), rows))
    except KeyError:
        return [row.get(name) for row in rows]


def from_arrow(data: pa.Table) -> Rows:
    """The rows of an Arrow table."""
    columns = []
    for field, column in zip(data.schema, data.columns, strict=True):
        if pa.types.is_timestamp(field.type):
            column = column.cast(_TIMESTAMP).cast(pa.int64())
            columns.append([None if value is None else value // 1000 for value in column.to_pylist()])
        else:
            columns.append(column.to_pylist())
    names = data.column_names
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


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


def read_rows(
    table: Table, folder: Path, where: "ds.Expression | None" = None, columns: Sequence[str] | None = None
) -> Rows:
    """The rows of a table in `folder`, those for which `where` holds; none if there is no such folder.

    `where` is an expression of pyarrow over the table's columns, which reads only the parts of files that it needs.
    With `columns` rows have only these.
    Raises FakebrokerError for files that are damaged.
    """
    import pyarrow.dataset as ds  # which imports pandas: too long for each of Spark's Python workers

    files = parquet_files(folder)
    if not files:
        return []
    data = ds.dataset([str(file) for file in files], format="parquet", schema=arrow_schema(table))
    with storage_failures_reported(str(folder)):
        return from_arrow(data.to_table(None if columns is None else list(columns), filter=where))


def parquet_files(folder: Path) -> list[Path]:
    """The Parquet files of a table, in the order of their names."""
    return sorted(folder.glob("*.parquet"))


def count_rows(folder: Path) -> int:
    """How many rows the files of a table say that they have. Raises FakebrokerError for one that is no Parquet file."""
    return sum(map(_rows_of_file, parquet_files(folder)))


def _rows_of_file(file: Path) -> int:
    with storage_failures_reported(str(file)):
        rows: int = pq.read_metadata(file).num_rows
    return rows
