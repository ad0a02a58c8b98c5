"""Decoding into files: what one task writes, and what the driver keeps of what all have written."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from fakebroker.history.reading import read_history
from fakebroker.pipeline.arrow_decode import EVERYTHING
from fakebroker.pipeline.oracle.commits import commits
from fakebroker.pipeline.rows import from_arrow, read_rows
from fakebroker.pipeline.sources import stored_history
from fakebroker.pipeline.sources.history import Part, history_parts
from fakebroker.pipeline.sources.stored_history import store_history
from fakebroker.pipeline.spark_failures import SparkFailure
from fakebroker.pipeline.tables import table
from tests.history.samples import batch, marker, segment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def history(folder: Path) -> None:
    """Commits, some of them in a transaction, its marker, and bytes that are no batch, in two partitions."""
    transaction = batch(3, 2, transactional=True, producer_id=5, producer_epoch=0)
    segment(folder, batch(0, 3) + transaction + marker(5, 5, 0, commit=False) + b"no batch", partition=3)
    segment(folder, batch(0, 4), partition=4)


def parts_of(spark: "SparkSession", folder: Path) -> list[Part]:
    return list(history_parts(spark, [folder], None, "west"))


def test_commits_outside_of_transactions_are_whole_rows(spark: "SparkSession", tmp_path: Path) -> None:
    """They are those that plain Python makes; all other rows are left as they were decoded."""
    history(tmp_path / "data")
    rows = store_history(spark, parts_of(spark, tmp_path / "data"), tmp_path / "plain", tmp_path / "others")

    decoded = list(read_history([tmp_path / "data"], source="west"))
    place = ("log_partition", "log_offset")
    expected = [row for row in commits(decoded, []) if not row["transactional"]]
    found = read_rows(table("commits"), tmp_path / "plain")
    assert sorted(found, key=lambda row: [row[each] for each in place]) == expected
    others = from_arrow(pq.read_table(tmp_path / "others"))
    assert sorted(row["what"] for row in others) == ["commit", "commit", "record", "reject"]
    assert rows == len(found) + len(others) == len(decoded)


def test_files_of_tasks_that_did_not_finish_are_left_out(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a task wrote that was killed, or that Spark ran a second time, is in no table."""
    history(tmp_path / "data")
    parts = parts_of(spark, tmp_path / "data")
    plain, others = tmp_path / "plain", tmp_path / "others"
    write = stored_history._write_part
    monkeypatch.setattr(stored_history, "_write_part", partial(_written_twice, write))
    store_history(spark, parts, plain, others)

    assert len(read_rows(table("commits"), plain)) == 7
    assert pq.read_table(others).num_rows == 4


def _written_twice(write: stored_history.PartWriter, part: Part, plain: Path, others: Path) -> stored_history.Written:
    write(part, plain, others)
    (plain / "part-killed.parquet").write_bytes(b"PAR1")
    return write(part, plain, others)


def test_a_folder_that_workers_do_not_share_is_an_error(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their files would be missing."""
    history(tmp_path / "data")
    parts = parts_of(spark, tmp_path / "data")
    monkeypatch.setattr(stored_history, "_write_part", _written_elsewhere)
    with pytest.raises(SparkFailure, match="not the same folder on all machines"):
        store_history(spark, parts, tmp_path / "plain", tmp_path / "others")


def _written_elsewhere(part: Part, plain: Path, others: Path) -> stored_history.Written:
    return stored_history.Written("part-0.parquet", 3, 0)


def test_no_parts_are_no_rows(spark: "SparkSession", tmp_path: Path) -> None:
    """A live log without records has none."""
    assert store_history(spark, [], tmp_path / "plain", tmp_path / "others") == 0
    assert read_rows(table("commits"), tmp_path / "plain") == []


def test_large_parts_are_written_in_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task holds no more than one group of rows."""
    monkeypatch.setattr(stored_history, "ROWS_A_GROUP", 2)
    (tmp_path / "plain").mkdir()
    (tmp_path / "others").mkdir()
    segment(tmp_path / "data", batch(0, 3), partition=3)
    from fakebroker.pipeline.sources.inputs import Files

    files = Files([str(tmp_path / "data")])
    (split,) = files.splits({}, files.latest(is_growing=False))
    part = Part([split, split], "west", EVERYTHING)
    written = stored_history._write_part(part, tmp_path / "plain", tmp_path / "others")

    assert (written.commits, written.others) == (6, 0)
    assert pq.read_metadata(tmp_path / "plain" / written.name).num_row_groups == 2
    assert not list((tmp_path / "others").iterdir())
