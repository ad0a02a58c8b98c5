"""Parquet that Spark or a sink connector wrote: one record of `__consumer_offsets` in each row.

Columns are those of Spark's Kafka source (key, value, topic, partition, offset, timestamp) or have another of the names
in `sink_rows`. Key and value are binary; text is read as in JSON lines. It needs pyarrow.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fakebroker.analysis.history.log_record import LogFile, LogRecord, Reject, sample_of
from fakebroker.analysis.history.sink_rows import BadRow, Shape, record_of, shape_of
from fakebroker.analysis.pipeline.extras import need_extra

if TYPE_CHECKING:
    from pyarrow import Array, RecordBatch

PARQUET_MAGIC: Final = b"PAR1"
_ROWS: Final = 10_000


def read_parquet(file: LogFile) -> Iterator[LogRecord | Reject]:
    """The records of a file in the order of its rows, and a reject for each row that is none.

    A file that is not Parquet, is cut, or lacks a column is one reject. Raises MissingExtra without pyarrow, and
    OSError when the file cannot be opened.
    """
    need_extra("history")
    shape: Shape | None = None
    for found in read_batches(file, _ROWS):
        if isinstance(found, Reject):
            yield found
            continue
        shape = shape or found.shape
        for number, row in enumerate(rows_in_ms(found.batch), found.first):
            try:
                shape = shape.with_text_of(row)
                yield record_of(row, shape, file, number)
            except BadRow as fault:
                yield file.reject(number, str(fault), sample_of(str(row)))


class Batch(NamedTuple):
    """Rows of a file, the number of the first of them, counted from 1, and the shape of all."""

    first: int
    batch: "RecordBatch"
    shape: Shape


def read_batches(file: LogFile, rows: int, groups: range | None = None) -> Iterator[Batch | Reject]:
    """The rows of a file, or of some of its row groups, so many at a time; a reject at the place that is damaged.

    Raises OSError when the file cannot be opened.
    """
    import pyarrow
    from pyarrow import parquet

    number = 0
    with file.path.open("rb") as opened:
        try:
            found = parquet.ParquetFile(opened)
            number = sum(found.metadata.row_group(group).num_rows for group in range(groups.start if groups else 0))
            shape = shape_of(list(found.schema_arrow.names), has_partition=file.log_partition is not None)
            for batch in found.iter_batches(
                rows, row_groups=None if groups is None else list(groups), columns=sorted(shape.names.values())
            ):
                yield Batch(number + 1, batch, shape)
                number += len(batch)
        except (pyarrow.ArrowException, OSError, BadRow) as error:
            yield file.reject(number + 1, f"the file cannot be read after row {number}: {str(error)[:300]}")


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
