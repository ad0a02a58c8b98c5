"""Reads a part of a history and decodes it: RecordBatches with the columns of the table `decoded`. No Spark here."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from fakebroker.history.decode import reject_row
from fakebroker.history.json_lines import read_json_lines
from fakebroker.history.log_record import LogRecord, Reject
from fakebroker.history.segments import Segment, read_segment
from fakebroker.pipeline.arrow_decode import RAW_SCHEMA, ROWS_PER_BATCH, decode_batch, rows_to_arrow
from fakebroker.pipeline.sources.parquet_history import read_parquet_split
from fakebroker.pipeline.sources.splits import Split

Found = LogRecord | Reject


def read_split(split: Split, source: str) -> Iterator[Any]:
    """Read and decode a part of a history whose log is called `source`; yields RecordBatches of DECODED_SCHEMA.

    What is wrong in a file becomes reject rows. A file that cannot be opened any more is one reject.
    """
    try:
        yield from _read(split, source)
    except OSError as error:
        reason = f"the file cannot be read: {error.strerror or error}"
        yield rejects_to_arrow([Reject(source, split.file, split.start, split.log_partition, None, reason, None)])


def _read(split: Split, source: str) -> Iterator[Any]:
    path = Path(split.file)
    match split.kind:
        case "parquet":
            yield from read_parquet_split(split, source)
        case "segment":
            if split.log_partition is None:
                reason = "the file's folder does not tell its partition, as __consumer_offsets-12 does"
                yield rejects_to_arrow([Reject(source, split.file, split.start, None, None, reason, None)])
                return
            segment = Segment(path, split.log_partition, source)
            yield from decode_found(read_segment(segment, split.start, split.end))
        case "json":
            yield from decode_found(read_json_lines(path, source, log_partition=split.log_partition))
        case "live":
            from fakebroker.history.live import read_partition

            yield from decode_found(
                read_partition(split.file, split.log_partition or 0, split.start, split.end, source)
            )


def decode_found(found: Iterable[Found]) -> Iterator[Any]:
    """Decode what a reader gives, as RecordBatches."""
    items = iter(found)
    while chunk := list(islice(items, ROWS_PER_BATCH)):
        records = [each for each in chunk if isinstance(each, LogRecord)]
        if records:
            yield from decode_batch(raw_batch(records))
        if len(records) < len(chunk):
            yield rejects_to_arrow([each for each in chunk if isinstance(each, Reject)])


def raw_batch(records: Iterable[LogRecord]) -> Any:
    """Records as a RecordBatch of RAW_SCHEMA."""
    columns = zip(*records, strict=True)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, RAW_SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=RAW_SCHEMA)


def rejects_to_arrow(rejects: Iterable[Reject]) -> Any:
    """Rejects as a RecordBatch of DECODED_SCHEMA."""
    return rows_to_arrow(map(reject_row, rejects))
