"""Histories by URL: Spark fetches the files, and the rows are those of the same files on this machine."""

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from fakebroker.analysis.history.reading import HistoryError, files_of, read_history
from fakebroker.analysis.pipeline.contract import Row
from fakebroker.analysis.pipeline.rows import Rows, from_arrow
from fakebroker.analysis.pipeline.sources.history import history_frame
from fakebroker.analysis.pipeline.sources.remote_files import remote_files
from fakebroker.analysis.pipeline.sources.remote_history import remote_frame
from fakebroker.cli.main import main
from tests.analysis.history.samples import KEY, batch, marker, segment, value
from tests.analysis.pipeline.sources.test_history_splits import parquet
from tests.support.published import row_differences

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def a_dump(folder: Path) -> None:
    """Every kind of file, whole and damaged, with names that Spark's own listing would leave out or misread."""
    segment(folder / "broker", batch(0, 3) + marker(3, 5, 0, commit=True) + batch(4, 9)[:50])
    (folder / "broker" / "orders-0").mkdir()
    (folder / "broker" / "orders-0" / "0.log").write_bytes(batch(0, 1))
    sink = folder / "sink" / "__consumer_offsets" / "partition=6"
    parquet(sink / "__consumer_offsets+6+0.snappy.parquet", 0, 12)
    line = json.dumps({"offset": 3, "timestamp": 5, "key": KEY.hex(), "value": value(0).hex()})
    (sink / "a [1] 50%25.json.gz").write_bytes(gzip.compress(f"{line}\n\n{{torn\n{line}\n".encode()))
    (sink / "_SUCCESS").write_bytes(b"")
    parquet(folder / "sink" / "wrong.parquet", 40, 12, offset=[1, None, -4, *range(40, 49)])
    parquet(folder / "sink" / "text.parquet", 60, 12, key=[KEY.hex()] * 12, value=[value(1).hex()] * 12)
    (folder / "sink" / "none.parquet").write_bytes(b"PAR1 and nothing else")


def plain(rows: Rows) -> Rows:
    """The rows as if their files had no scheme."""
    return [row | {"file": _plain(row)} for row in rows]


def _plain(row: Row) -> str:
    file: str = row["file"]
    return file.removeprefix("file:")


def test_files_with_a_scheme_give_the_rows_of_the_same_files_here(spark: "SparkSession", tmp_path: Path) -> None:
    """Folders, files and patterns, beside a path of this machine; rejects with file and position included."""
    a_dump(tmp_path)
    local = parquet(tmp_path / "local.parquet", 0, 3)
    urls = [f"file://{tmp_path}/broker", f"file://{tmp_path}/si*", f"file://{tmp_path}/sink/text.parquet"]

    frame = history_frame(spark, paths=[*urls, local], source="west")

    expected = list(read_history([tmp_path / "broker", tmp_path / "sink", local], source="west"))
    assert row_differences(expected, plain(from_arrow(frame.toArrow()))) == []
    assert {row["what"] for row in expected} == {"commit", "record", "reject"}
    assert len([row for row in expected if row["what"] == "reject"]) > 3


def _without_samples(rows: Rows) -> Rows:
    """The rows without what stood there, which has the columns of all files when Spark reads them."""
    return [row | {"sample": None} for row in rows]


def test_large_parquet_is_read_by_sparks_own_reader(spark: "SparkSession", tmp_path: Path) -> None:
    """Row by row with file and number; a column that only some files have is missing in the others."""
    wrong = parquet(tmp_path / "wrong [a].parquet", 40, 12, offset=[1, None, -4, *range(40, 49)])
    sink = tmp_path / "%20" / "partition=6"
    parquet(sink / "__consumer_offsets+6+0.parquet", 60, 25)
    bare = parquet(sink / "c d.parquet", 90, 25, topic=["__consumer_offsets"] * 24 + ["orders"])
    pq.write_table(pq.read_table(bare, partitioning=None).drop_columns(["partition"]), bare)

    found = remote_files(spark, [f"file://{wrong}", f"file://{tmp_path}/%20"])
    frame = remote_frame(spark, found, "west", whole_bytes=0)

    read_by_rows = plain(from_arrow(frame.toArrow()))
    expected = list(read_history([wrong, sink], source="west"))
    assert row_differences(_without_samples(expected), _without_samples(read_by_rows)) == []
    assert "row_index" in frame._jdf.queryExecution().toString()


def test_what_cannot_be_read_is_reported_in_a_line(spark: "SparkSession", tmp_path: Path) -> None:
    """The URL, and what is wrong with it: for a scheme without a file system the package that has one."""
    (tmp_path / "notes.txt").write_text("nothing of ours")
    for url, problem in {
        f"file://{tmp_path}/nowhere": "no such file or folder",
        f"file://{tmp_path}/*.parquet": "no file matches",
        f"file://{tmp_path}": "no log segments of __consumer_offsets, JSON lines or Parquet found",
        f"file://{tmp_path}/notes.txt": "no log segments",
        "s3a://dump/x/*.parquet": "--conf spark.jars.packages=org.apache.hadoop:hadoop-aws:",
        "s3://dump/x": "write s3a://",
        "moon://dump/x": "spark.jars.packages=GROUP:NAME:VERSION",
        "hdfs:///x": "no host",
    }.items():
        with pytest.raises(HistoryError) as raised:
            remote_files(spark, [url])
        assert str(raised.value).startswith(f"{url}: ")
        assert problem in str(raised.value)
        assert "\n" not in str(raised.value)


def test_python_does_not_read_urls(tmp_path: Path) -> None:
    """The command says which engine does."""
    arguments = ["history", "decode", "--engine", "embedded", "s3a://x/*.parquet", "--tables", str(tmp_path / "out")]

    result = CliRunner().invoke(main, arguments)

    assert result.exit_code == 2
    assert "s3a://x/*.parquet: files with a scheme are read by Spark: use --engine spark" in result.output
    with pytest.raises(HistoryError, match="only `history decode --engine spark` reads other file systems"):
        files_of(["s3a://x"])
