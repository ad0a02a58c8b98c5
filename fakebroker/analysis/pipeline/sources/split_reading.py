"""Reads a part of a history and decodes it: RecordBatches with the columns of the table `decoded`. No Spark here."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from fakebroker.analysis.history.decode import reject_row
from fakebroker.analysis.history.log_record import LogFile, LogRecord, Reject
from fakebroker.analysis.history.reading import read_file, reason_of
from fakebroker.analysis.history.segments import read_segment
from fakebroker.analysis.pipeline import arrow_decode
from fakebroker.analysis.pipeline.sources.parquet_history import raw_batches
from fakebroker.analysis.pipeline.sources.splits import TO_THE_END, Split
from fakebroker.client.security import ClientConfig, Security

Found = LogRecord | Reject


def read_split(split: Split, source: str, security: Security = Security()) -> Iterator[Any]:
    """Read and decode a part of a history whose log is called `source`; yields RecordBatches of DECODED_SCHEMA.

    `security` is that of a running Kafka. What is wrong in a file, or that it cannot be opened any more, becomes reject
    rows.
    """
    file = LogFile(Path(split.file), split.log_partition, source)
    try:
        yield from _read(split, file, security)
    except OSError as error:
        yield rejects_to_arrow([file.reject(split.start, reason_of(error))])


def _read(split: Split, file: LogFile, security: Security) -> Iterator[Any]:
    if split.kind == "live":
        from fakebroker.analysis.history.live import read_partition

        assert split.log_partition is not None, "a live log has partitions"
        kafka = ClientConfig(split.file, security)
        yield from decode_found(read_partition(kafka, split.log_partition, split.start, split.end, file.source))
    elif split.end == TO_THE_END:
        yield from decode_found(read_file(split.kind, file))
    elif split.kind == "segment":
        yield from decode_found(read_segment(file, split.start, split.end))
    else:
        for each in raw_batches(file, range(split.start, split.end)):
            yield from decode_raw(each)


def decode_raw(found: Any | list[Found]) -> Iterator[Any]:
    """Decode a RecordBatch of RAW_SCHEMA, or what stands in its place."""
    return decode_found(found) if isinstance(found, list) else arrow_decode.decode_batch(found)


def decode_found(found: Iterable[Found]) -> Iterator[Any]:
    """Decode what a reader gives, as RecordBatches."""
    items = iter(found)
    while chunk := list(islice(items, arrow_decode.ROWS_PER_BATCH)):
        records = [each for each in chunk if isinstance(each, LogRecord)]
        if records:
            yield from arrow_decode.decode_batch(raw_batch(records))
        if len(records) < len(chunk):
            yield rejects_to_arrow([each for each in chunk if isinstance(each, Reject)])


def raw_batch(records: Iterable[LogRecord]) -> Any:
    """Records as a RecordBatch of RAW_SCHEMA."""
    columns = zip(*records, strict=True)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, arrow_decode.RAW_SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_decode.RAW_SCHEMA)


def rejects_to_arrow(rejects: Iterable[Reject]) -> Any:
    """Rejects as a RecordBatch of DECODED_SCHEMA."""
    return arrow_decode.rows_to_arrow(map(reject_row, rejects))
