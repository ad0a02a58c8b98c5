"""Histories on file systems that Spark can read (`s3a://`, `hdfs://`, `file://`) as rows of the table `decoded`.

Spark fetches the files, Python decodes them as it does those of this machine. Most files are handed over whole, so that
one that is damaged becomes rejects; large Parquet is read by Spark's own reader, many tasks to a file.
"""

import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce
from typing import IO, TYPE_CHECKING, Any, Final, Literal
from urllib.parse import quote, unquote

import pyarrow as pa
from pyarrow import compute

from fakebroker.analysis.history.log_record import LogFile
from fakebroker.analysis.history.reading import HistoryError, read_file
from fakebroker.analysis.history.sink_rows import shape_of
from fakebroker.analysis.pipeline.sources.parquet_history import has_plain_columns, raw_batches, raw_rows
from fakebroker.analysis.pipeline.sources.remote_files import RemoteFile
from fakebroker.analysis.pipeline.sources.split_reading import decode_found, decode_raw
from fakebroker.analysis.pipeline.sources.splits import parquet_metadata
from fakebroker.analysis.pipeline.tables.decoded import TABLE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WHOLE_BYTES: Final = 64 * 1024 * 1024
"""Parquet up to this size is handed over whole."""
MAX_BYTES: Final = 2**31 - 1024
"""What Spark can hand over of one file."""

# Spark's types of plain columns.
_ARROW_TYPES: Final = {
    "binary": pa.binary(),
    "string": pa.string(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_PATTERN_CHARACTERS: Final = frozenset("{}[]*?\\")
_FILE, _ROW = "_fakebroker_file", "_fakebroker_row"

Files = Mapping[str, RemoteFile]
Batches = Iterable[Any]


class Content:
    """What Spark has read of a file, for readers that open files."""

    def __init__(self, name: str, data: bytes) -> None:
        self._name = name
        self._data = data

    def open(self, mode: Literal["rb"], buffering: int = -1) -> IO[bytes]:  # noqa: ARG002 - as Path has them
        """A stream of it."""
        return io.BytesIO(self._data)

    def __str__(self) -> str:
        return self._name


def remote_frame(
    session: "SparkSession", files: Sequence[RemoteFile], source: str, *, whole_bytes: int = WHOLE_BYTES
) -> "DataFrame":
    """The table `decoded` of files whose log is called `source`; each use of it reads anew.

    Raises HistoryError for a file that Spark cannot hand over, because it is too large and not plain Parquet.
    """
    large = [file for file in files if file.kind == "parquet" and file.size_bytes > whole_bytes]
    rows = _rows_frame(session, large, source) if large else None
    whole = [file for file in files if rows is None or file not in large]
    for file in whole:
        if file.size_bytes > MAX_BYTES:
            raise HistoryError(f"{file.url}: a file of {file.size_bytes} bytes is too large for Spark: 2 GiB at most")
    frames = [_contents_frame(session, whole, source)] if whole else []
    return reduce(lambda one, other: one.unionByName(other), [*frames, *([] if rows is None else [rows])])


def _contents_frame(session: "SparkSession", files: Sequence[RemoteFile], source: str) -> "DataFrame":
    reader, by_path = _reader_of(session, files)
    found = reader.format("binaryFile").load(list(by_path)).select("path", "content")
    return found.mapInArrow(partial(_decode_contents, by_path, source), TABLE.spark_ddl)


def _rows_frame(session: "SparkSession", files: Sequence[RemoteFile], source: str) -> "DataFrame | None":
    """Parquet by Spark's reader; None unless all has the same plain columns, and footers that can be read."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    reader, by_path = _reader_of(session, files)
    try:
        frame = reader.option("mergeSchema", "true").parquet(*by_path)
        schema = pa.schema([(name, _ARROW_TYPES.get(kind, pa.null())) for name, kind in frame.dtypes])
    except (PySparkException, Py4JJavaError):
        return None
    has_partition = all(file.log_partition is not None for file in files)
    if not has_plain_columns(schema, 0 if has_partition else None):
        return None
    names = shape_of(list(schema.names), has_partition=has_partition).names.values()
    columns = [F.col(f"`{name}`") for name in names]
    place = [F.col("_metadata.file_path").alias(_FILE), F.col("_metadata.row_index").alias(_ROW)]
    return frame.select(*columns, *place).mapInArrow(partial(_decode_rows, by_path, source), TABLE.spark_ddl)


def _reader_of(session: "SparkSession", files: Sequence[RemoteFile]) -> tuple[Any, dict[str, RemoteFile]]:
    """A reader, and the paths by which it reads files.

    Spark leaves out files whose names begin with `_`, as those of Kafka Connect's sinks do, and takes some names for
    patterns. Such files have other names in a view on the file systems (Hadoop's viewfs).
    """
    reader, by_path = session.read, {}
    view = f"fakebroker-{os.urandom(6).hex()}"
    for number, file in enumerate(files):
        name = file.url.rpartition("/")[2]
        if name.startswith(("_", ".")) or _PATTERN_CHARACTERS & set(file.url):
            reader = reader.option(f"fs.viewfs.mounttable.{view}.link./{number}", quote(file.url, safe="/:@"))
            by_path[f"viewfs://{view}/{number}"] = file
        else:
            by_path[file.url] = file
    return reader, by_path


def _decode_contents(files: Files, source: str, batches: Batches) -> Iterator[Any]:
    """Decode files that Spark has read: rows of path and content."""
    for batch in batches:
        for path, content in zip(batch.column("path"), batch.column("content"), strict=True):
            yield from decode_content(files[path.as_py()], content.as_py(), source)


def decode_content(file: RemoteFile, data: bytes, source: str) -> Iterator[Any]:
    """Decode a whole file; yields RecordBatches with the columns of `decoded`."""
    named = LogFile(Content(file.url, data), file.log_partition, source)
    metadata = parquet_metadata(named.path) if file.kind == "parquet" else None
    if metadata is None or not has_plain_columns(metadata.schema.to_arrow_schema(), file.log_partition):
        return decode_found(read_file(file.kind, named))
    found = raw_batches(named, range(metadata.num_row_groups))
    return (batch for each in found for batch in decode_raw(each))


def _decode_rows(files: Files, source: str, batches: Batches) -> Iterator[Any]:
    """Decode rows of Parquet, with the file and the number of the row there among the columns."""
    for batch in batches:
        paths = batch.column(_FILE)
        for path in paths.unique():
            rows = batch.filter(compute.equal(paths, path))
            file = _file_at(path.as_py(), files)
            positions = compute.add(rows.column(_ROW), 1).to_pylist()
            columns = _columns_of(rows.drop_columns([_FILE, _ROW]), file)
            named = LogFile(Content(file.url, b""), file.log_partition, source)
            yield from decode_raw(raw_rows(columns, named, positions))


def _columns_of(rows: Any, file: RemoteFile) -> Any:
    """The rows without the partition, if the file has no such column and its folder tells it."""
    if file.log_partition is None:
        return rows
    names = shape_of(list(rows.schema.names), has_partition=True).names
    name = names.get("partition")
    return rows.drop_columns([name]) if name and rows.column(name).null_count == len(rows) else rows


def _file_at(path: str, files: Files) -> RemoteFile:
    """The file that Spark calls so: a URL in which special characters are escaped."""
    plain = unquote(path)
    return files["file:/" + plain.removeprefix("file:").lstrip("/") if plain.startswith("file:") else plain]
