"""Reads a part of a history and decodes it: RecordBatches with the columns of the table `decoded`. No Spark here."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from fakebroker.analysis.history.decode import reject_row
from fakebroker.analysis.history.log_record import LogRecord, Reject
from fakebroker.analysis.history.reading import HistoryFile, read_file
from fakebroker.analysis.history.segments import Segment, read_segment
from fakebroker.analysis.pipeline.arrow_decode import (
    EVERYTHING,
    RAW_SCHEMA,
    ROWS_PER_BATCH,
    Wanted,
    decode_batch,
    rows_to_arrow,
)
from fakebroker.analysis.pipeline.sources.parquet_history import raw_batches
from fakebroker.analysis.pipeline.sources.splits import TO_THE_END, Split
from fakebroker.client.security import ClientConfig, Security

Found = LogRecord | Reject


def read_split(
    split: Split, source: str, wanted: Wanted = EVERYTHING, security: Security = Security()
) -> Iterator[Any]:
    """Read and decode a part of a history whose log is called `source`; yields RecordBatches of DECODED_SCHEMA.

    Rows that are not `wanted` may be left out. `security` is that of a running Kafka.

    What is wrong in a file becomes reject rows. A file that cannot be opened any more is one reject.
    """
    try:
        yield from _read(split, source, wanted, security)
    except OSError as error:
        reason = f"the file cannot be read: {error.strerror or error}"
        yield rejects_to_arrow([Reject(source, split.file, split.start, split.log_partition, None, reason, None)])


def _read(split: Split, source: str, wanted: Wanted, security: Security) -> Iterator[Any]:
    path = Path(split.file)
    if split.kind == "live":
        from fakebroker.analysis.history.live import read_partition

        assert split.log_partition is not None, "a live log has partitions"
        kafka = ClientConfig(split.file, security)
        yield from decode_found(read_partition(kafka, split.log_partition, split.start, split.end, source), wanted)
    elif split.end == TO_THE_END:
        yield from decode_found(read_file(HistoryFile(path, split.kind, split.log_partition), source), wanted)
    elif split.kind == "segment":
        assert split.log_partition is not None, "files_of has found it"
        yield from decode_found(
            read_segment(Segment(path, split.log_partition, source), split.start, split.end), wanted
        )
    else:
        for found in raw_batches(path, split.start, split.end, source, split.log_partition):
            yield from decode_raw(found, wanted)


def decode_raw(found: Any | list[Found], wanted: Wanted = EVERYTHING) -> Iterator[Any]:
    """Decode a RecordBatch of RAW_SCHEMA, or what stands in its place."""
    return decode_found(found, wanted) if isinstance(found, list) else decode_batch(found, wanted)


def decode_found(found: Iterable[Found], wanted: Wanted = EVERYTHING) -> Iterator[Any]:
    """Decode what a reader gives, as RecordBatches."""
    items = iter(found)
    while chunk := list(islice(items, ROWS_PER_BATCH)):
        records = [each for each in chunk if isinstance(each, LogRecord)]
        if records:
            yield from decode_batch(raw_batch(records), wanted)
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
