"""Parquet that Spark or a sink connector wrote: one record of `__consumer_offsets` in each row.

Columns are those of Spark's Kafka source (key, value, topic, partition, offset, timestamp) or have another of the names
in `sink_rows`. Key and value are binary; text is read as in JSON lines. It needs pyarrow.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from fakebroker.analysis.history.log_record import LogRecord, Openable, Reject
from fakebroker.analysis.history.sink_rows import BadRow, Shape, record_of, shape_of
from fakebroker.analysis.pipeline.extras import need_extra

if TYPE_CHECKING:
    from pyarrow import Array, RecordBatch

PARQUET_MAGIC: Final = b"PAR1"
_ROWS: Final = 10_000


def read_parquet(path: Openable, source: str, *, log_partition: int | None = None) -> Iterator[LogRecord | Reject]:
    """The records of a file in the order of its rows, and a reject for each row that is none.

    The arguments are those of `read_json_lines`. A file that is not Parquet, is cut, or lacks a column is one reject.
    Raises MissingExtra without pyarrow, and OSError when the file cannot be opened.
    """
    need_extra("history")
    import pyarrow
    from pyarrow import parquet

    row_number = 0
    with path.open("rb") as opened:
        try:
            file = parquet.ParquetFile(opened)
            shape = shape_of(list(file.schema_arrow.names), has_partition=log_partition is not None)
            for batch in file.iter_batches(_ROWS, columns=sorted(shape.names.values())):
                for row in rows_in_ms(batch):
                    row_number += 1
                    try:
                        shape = shape.with_text_of(row)
                        yield _record(row, shape, path, source, row_number, log_partition)
                    except BadRow as fault:
                        sample = str(row)[:96]
                        yield Reject(source, str(path), row_number, log_partition, None, str(fault), sample)
        except (pyarrow.ArrowException, OSError, BadRow) as error:
            reason = f"the file cannot be read after row {row_number}: {str(error)[:300]}"
            yield Reject(source, str(path), row_number + 1, log_partition, None, reason, None)


def _record(
    row: dict[str, Any], shape: Shape, path: Openable, source: str, number: int, log_partition: int | None
) -> LogRecord:
    return record_of(row, shape, source=source, file=str(path), position=number, log_partition=log_partition)


def rows_in_ms(batch: "RecordBatch") -> Iterator[dict[str, Any]]:
    """The rows of a part of a file, with times in ms."""
    names = batch.schema.names
    for values in zip(*(_values(column) for column in batch.columns), strict=True):
        yield dict(zip(names, values, strict=True))


def _values(column: "Array") -> list[Any]:
    """A column as Python values: times as numbers of ms whatever their unit, text that is not UTF-8 with U+FFFD."""
    import pyarrow
    from pyarrow import types

    if types.is_timestamp(column.type):
        column = column.cast(pyarrow.timestamp("ms"), safe=False).cast(pyarrow.int64())
    elif types.is_dictionary(column.type):
        column = column.dictionary_decode()
    try:
        return column.to_pylist()  # type: ignore[no-any-return]
    except UnicodeDecodeError:
        texts = column.cast(pyarrow.large_binary()).to_pylist()
        return [None if text is None else text.decode("utf-8", "replace") for text in texts]
