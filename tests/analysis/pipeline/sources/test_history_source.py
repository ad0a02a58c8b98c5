"""The data source of histories on Spark: batch and stream, restarts, late and duplicate files."""

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fakebroker.analysis.history.reading import read_history
from fakebroker.analysis.pipeline.rows import Rows, from_arrow
from fakebroker.analysis.pipeline.source_options import OptionError
from fakebroker.analysis.pipeline.sources.history import NAME, HistoryDataSource, history_frame, read_options
from tests.analysis.history.samples import KEY, batch, marker, segment, value
from tests.analysis.pipeline.sources.test_history_splits import parquet
from tests.support.published import row_differences
from tests.support.tables_made import commits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def a_history(folder: Path) -> None:
    """A log in segments, in Parquet and in lines, some of it in two of them, and a file that is damaged."""
    segment(folder, b"".join(batch(n, 3) for n in range(0, 30, 3)) + b"no batch at all")
    segment(
        folder,
        batch(30, 2, transactional=True, producer_id=5, producer_epoch=0) + marker(32, 5, 0, commit=True),
        base_offset=30,
    )
    parquet(folder / "__consumer_offsets-7" / "a.parquet", 0, 35)
    line = {"partition": 3, "offset": 3, "timestamp": 5, "key": KEY.hex(), "value": value(0).hex()}
    (folder / "__consumer_offsets-3" / "a.jsonl").write_text(json.dumps(line) + "\n{torn\n")


class Ingest:
    """A stream of a folder into Parquet, with a checkpoint."""

    def __init__(self, spark: "SparkSession", folder: Path, **options: str) -> None:
        spark.dataSource.register(HistoryDataSource)
        self._spark = spark
        self._folder = folder
        self._options = options
        self.out = folder.parent / "out"
        self.checkpoint = folder.parent / "checkpoint"

    def run(self) -> None:
        """Read what is there now, to its end."""
        frame = self._spark.readStream.format(NAME).option("source", "west").options(**self._options)
        writer = (
            frame.load(str(self._folder))
            .writeStream.format("parquet")
            .option("checkpointLocation", str(self.checkpoint))
        )
        assert writer.trigger(availableNow=True).start(str(self.out)).awaitTermination(100)

    @property
    def batches(self) -> int:
        """How many micro-batches there were."""
        return len(list((self.checkpoint / "commits").glob("[0-9]*")))

    def rows(self) -> Rows:
        """What Spark's sink has committed."""
        return from_arrow(self._spark.read.parquet(str(self.out)).toArrow())


def test_a_batch_reads_what_plain_python_reads(spark: "SparkSession", tmp_path: Path) -> None:
    """Every kind of file, rejects included."""
    a_history(tmp_path / "data")
    expected = list(read_history([tmp_path / "data"], source="west"))
    frame = history_frame(spark, paths=[tmp_path / "data"], source="west")

    assert row_differences(expected, from_arrow(frame.toArrow())) == []
    assert {row["what"] for row in expected} == {"commit", "record", "reject"}


def test_a_stream_gives_each_record_once_whatever_happens(spark: "SparkSession", tmp_path: Path) -> None:
    """Files that come, grow, come late or again, and a restart in the middle of a batch, change no commit."""
    broker = tmp_path / "data" / "broker-1"
    ingest = Ingest(spark, tmp_path / "data")
    first = segment(broker, batch(0, 3) + batch(3, 3)[:40])
    ingest.run()
    first.write_bytes(batch(0, 3) + batch(3, 3))
    segment(broker, batch(9, 3), base_offset=9)
    ingest.run()

    # The batch was written, but its commit was lost: it is made again from the checkpoint, and written once.
    (ingest.checkpoint / "commits" / "1").unlink()
    (ingest.checkpoint / "commits" / ".1.crc").unlink(missing_ok=True)
    segment(broker, batch(6, 3), base_offset=6)  # late
    shutil.copytree(broker, tmp_path / "data" / "broker-2")  # the same log once more
    ingest.run()

    rows = ingest.rows()
    assert sorted(row["log_offset"] for row in rows) == sorted([*range(12), *range(12)])
    assert ingest.batches == 3
    once = list(read_history([broker], source="west"))
    assert row_differences(commits(once, []), commits(rows, [])) == []


def test_a_stream_keeps_to_its_limit(spark: "SparkSession", tmp_path: Path) -> None:
    """With a limit there are several batches, and the same rows."""
    data = tmp_path / "data"
    segment(data, b"".join(batch(n, 3) for n in range(0, 30, 3)))
    size_bytes = len(batch(0, 3))
    ingest = Ingest(spark, data, maxBytesPerTrigger=str(4 * size_bytes))
    ingest.run()

    assert ingest.batches == 3
    assert row_differences(read_history([data], source="west"), ingest.rows()) == []


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, "from paths or from a bootstrap server"),
        ({"path": "x", "bootstrap": "localhost:9092"}, "from paths or from a bootstrap server"),
        (
            {"path": "x", "maxBytesPerTrigger": "many"},
            "maxBytesPerTrigger is 'many'; it must be a whole number",
        ),
        (
            {"path": "x", "maxBytePerTrigger": "1"},
            "there is no option 'maxbytepertrigger'; did you mean 'maxBytesPerTrigger'",
        ),
        ({"paths": "a,b"}, "paths is 'a,b'; it must be a JSON list of strings"),
        ({"paths": "3"}, "paths is '3'; it must be a JSON list of strings"),
    ],
)
def test_wrong_options_are_reported(options: dict[str, str], problem: str) -> None:
    """An option that is missing, wrong or unknown is named."""
    with pytest.raises(OptionError, match=problem):
        read_options(options)


def test_spark_tells_of_wrong_options(spark: "SparkSession") -> None:
    """The text gets through the JVM."""
    spark.dataSource.register(HistoryDataSource)
    with pytest.raises(Exception, match="from paths or from a bootstrap server"):
        spark.read.format(NAME).load().count()
