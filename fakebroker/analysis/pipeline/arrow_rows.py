"""Rows of plain Python from Arrow batches, and back: so both engines call the functions of recipes."""

from collections.abc import Iterable, Iterator
from itertools import islice
from operator import itemgetter
from typing import Any, Final

import pyarrow as pa

from fakebroker.analysis.pipeline.contract import Table
from fakebroker.analysis.pipeline.rows import ARROW_TYPES

Row = dict[str, Any]

ROWS_OF_A_BATCH: Final = 2_000

_TYPES_IN_MS: Final = {**ARROW_TYPES, "timestamp": pa.int64()}


def rows_of(batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
    """The rows of batches, as dicts by column."""
    for batch in batches:
        yield from batch.to_pylist()


def batches_of(table: Table, rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    """The rows of a table in batches, times as numbers of milliseconds."""
    schema = pa.schema([(column.name, _TYPES_IN_MS[column.type]) for column in table.columns])
    values = map(itemgetter(*table.column_names), rows)
    while found := list(islice(values, ROWS_OF_A_BATCH)):
        arrays = [pa.array(column, field.type) for field, column in zip(schema, zip(*found, strict=True), strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)
