"""Journals as DataFrames: files read once as a batch, or a folder in which files arrive as a stream.

Python reads the lines: it knows which line is which, and both engines say the same of a bad one. Files with a scheme,
such as s3a://, are read by Spark and handed over whole.
"""

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from fakebroker.analysis.history.reading import has_scheme
from fakebroker.analysis.pipeline.engines import make
from fakebroker.analysis.pipeline.of_table import ddl_in_ms
from fakebroker.analysis.pipeline.rows import batches_of, rows_of
from fakebroker.analysis.pipeline.sources import journal_files
from fakebroker.analysis.pipeline.spark_engine import SparkEngine
from fakebroker.analysis.pipeline.tables.journal_lines import TABLE
from fakebroker.testing.journal.files import OPEN_SUFFIX

_ROW_TYPES: Final = ddl_in_ms(TABLE)
_FILES: Final = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"
_FINISHED_SUFFIXES: Final = tuple(each for each in journal_files.SUFFIXES if not each.endswith(OPEN_SUFFIX))
_MAX_TASKS: Final = 10_000


def journal_frames(spark: SparkSession, paths: Sequence[str | PathLike[str]]) -> tuple[DataFrame, DataFrame]:
    """Journals as the tables `events` and `rejects`, which both read the files. Raises as `journal_lines`."""
    engine, lines = SparkEngine(spark), {"journal_lines": journal_lines(spark, paths)}
    return make(engine, "events", lines), make(engine, "journal_rejects", lines)


def journal_lines(spark: SparkSession, paths: Sequence[str | PathLike[str]]) -> DataFrame:
    """Journals as the table `journal_lines`, a task for each file. Folders are read with all that is in them.

    Raises InvalidArgument naming the path where there is no file or folder.
    """
    remote = [str(path) for path in paths if has_scheme(path)]
    files = journal_files.journal_files(path for path in paths if not has_scheme(path))
    names = spark.createDataFrame([(str(path),) for path in files], "path STRING")
    lines = names.repartition(min(max(len(files), 1), _MAX_TASKS)).mapInArrow(_read_names, _ROW_TYPES)
    if remote:
        names_of_files = _names_with(journal_files.SUFFIXES, remote)
        reader = spark.read.format("binaryFile").options(pathGlobFilter=names_of_files, recursiveFileLookup="true")
        lines = lines.unionByName(_lines_of_contents(reader.load(remote)))
    return lines


def journal_stream(spark: SparkSession, folder: str | PathLike[str], *, max_files: int = 1_000) -> DataFrame:
    """The table `journal_lines` as a stream of the files that arrive in a folder, at most so many in a batch.

    A stream reads a file once. Files that a broker still writes (`.jsonl.open`) are therefore left out: they come when
    they have their names.
    """
    found = (
        spark.readStream.format("binaryFile")
        .schema(_FILES)
        .options(
            pathGlobFilter=_names_with(_FINISHED_SUFFIXES),
            recursiveFileLookup="true",
            maxFilesPerTrigger=str(max_files),
        )
        .load(str(folder))
    )
    return _lines_of_contents(found) if has_scheme(folder) else found.select("path").mapInArrow(_read_names, _ROW_TYPES)


def ingest_stream(
    spark: SparkSession, folder: str | PathLike[str], out: str | PathLike[str], checkpoint: str | PathLike[str]
) -> None:
    """Add what has arrived in `folder` since the last time to the Parquet files in `out`, and return.

    They have the columns of `journal_lines`; `events` and `journal_rejects` of them are the tables. `checkpoint` is
    where Spark notes which files it has read. After a restart in the middle it goes on without loss and repetition.
    """
    query = (
        journal_stream(spark, folder)
        .writeStream.format("parquet")
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start(str(out))
    )
    query.awaitTermination()


def _names_with(suffixes: Iterable[str], paths: Iterable[str] = ()) -> str:
    """A pattern of Hadoop for file names with these endings, and for the names of these paths, whatever they are."""
    named = (re.sub(r"([\\{}\[\]*?,^])", r"\\\1", path.rstrip("/").rpartition("/")[2]) for path in paths)
    return f"{{{','.join([*(f'*{suffix}' for suffix in suffixes), *named])}}}"


def _lines_of_contents(files: DataFrame) -> DataFrame:
    return files.select("path", "content").mapInArrow(_read_contents, _ROW_TYPES)


def _read_names(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The lines of the files whose names these are."""
    spans = (journal_files.Span(Path(_local(row["path"]))) for row in rows_of(batches))
    return batches_of(TABLE, journal_files.journal_lines(spans))


def _read_contents(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The lines of files that Spark has read."""
    files = ((file["path"], io.BytesIO(file["content"])) for file in rows_of(batches))
    return batches_of(TABLE, (row for path, content in files for row in journal_files.lines_of(path, content)))


def _local(path: str) -> str:
    """The path of a local file, which Spark writes as file:/path."""
    return "/" + path.removeprefix("file:").lstrip("/") if path.startswith("file:") else path
