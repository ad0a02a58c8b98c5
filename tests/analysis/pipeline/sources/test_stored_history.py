"""Decoding into files: what one task writes, and what the driver keeps of what all have written."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from fakebroker.analysis.history.reading import read_history
from fakebroker.analysis.pipeline.duckdb_engine import DuckEngine
from fakebroker.analysis.pipeline.rows import Rows, from_arrow, read_rows
from fakebroker.analysis.pipeline.sources import stored_history
from fakebroker.analysis.pipeline.sources.inputs import Files
from fakebroker.analysis.pipeline.sources.parts import Part, all_parts
from fakebroker.analysis.pipeline.sources.stored_history import Folders, Written, store_history
from fakebroker.analysis.pipeline.spark_engine import SparkEngine
from fakebroker.analysis.pipeline.spark_failures import SparkFailure
from fakebroker.analysis.pipeline.tables import table
from fakebroker.client.security import Security
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.scenarios.running import side_by_side
from tests.analysis.history.samples import AT_MS, batch, group_record, marker, segment
from tests.support.tables_made import commits, coordinator_records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from fakebroker.analysis.pipeline.engines import Engine

UNKNOWN_KEY = b"\x7f\xff"


def history(folder: Path) -> None:
    """Two partitions: commits, two of them in a transaction, its marker, bytes that are no batch; a group, and a type
    of record that nobody knows."""
    transaction = batch(3, 2, transactional=True, producer_id=5, producer_epoch=0)
    segment(folder, batch(0, 3) + transaction + marker(5, 5, 0, commit=False) + b"no batch", partition=3)
    others = [Record(4, AT_MS, *group_record()), Record(5, AT_MS, UNKNOWN_KEY, b"\0\0")]
    segment(folder, batch(0, 4) + build_batch(others), partition=4)


def parts_of(engine: "Engine", folder: Path) -> list[Part]:
    return all_parts(Files([str(folder)]), "west", Security(), engine.tasks_at_once)


def folders_in(path: Path) -> Folders:
    return Folders(*(path / name for name in Folders._fields))


def test_what_needs_no_other_record_is_whole_rows(engine: "Engine", tmp_path: Path) -> None:
    """Commits outside of transactions, and records of groups, are those that the recipes make; others are left."""
    history(tmp_path / "data")
    folders = folders_in(tmp_path)
    rows = store_history(engine, parts_of(engine, tmp_path / "data"), folders)

    decoded = list(read_history([tmp_path / "data"], source="west"))
    made = [row for row in commits(decoded, []) if not row["transactional"]]
    assert in_order(read_rows(table("commits"), folders.commits)) == made
    records = [row for row in coordinator_records(decoded) if row["kind"] not in ("commit", "abort")]
    assert [row["kind"] for row in records] == ["GroupMetadata", "unknown"]
    assert in_order(read_rows(table("coordinator_records"), folders.records)) == records
    others = from_arrow(pq.read_table(folders.others))
    assert sorted(row["what"] for row in others) == ["commit", "commit", "record", "reject"]
    assert rows == len(made) + len(records) + len(others) == len(decoded)


def test_what_may_repeat_is_left_to_the_engine(engine: "Engine", tmp_path: Path) -> None:
    """All records are rows of `decoded` then, which are compared before they are rows of tables."""
    history(tmp_path / "data")
    folders = folders_in(tmp_path)
    rows = store_history(engine, parts_of(engine, tmp_path / "data"), folders, may_repeat=True)

    assert not list(folders.commits.iterdir())
    assert not list(folders.records.iterdir())
    read = list(read_history([tmp_path / "data"], source="west"))
    assert sorted(from_arrow(pq.read_table(folders.others)), key=repr) == sorted(read, key=repr)
    assert rows == len(read)


def test_files_are_read_by_several_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The embedded engine has other processes when they are faster; what they write is what one process writes."""
    monkeypatch.setattr(side_by_side, "SPAWNED_S", 0.0)
    for partition in range(8):
        segment(tmp_path / "data", batch(0, 3), partition=partition)
    engine = DuckEngine()
    parts = [Part([split], "west") for part in parts_of(engine, tmp_path / "data") for split in part.splits]
    folders = folders_in(tmp_path)

    assert store_history(engine, parts, folders) == 24
    decoded = list(read_history([tmp_path / "data"], source="west"))
    assert in_order(read_rows(table("commits"), folders.commits)) == commits(decoded, [])


def in_order(rows: Rows) -> Rows:
    return sorted(rows, key=lambda row: (row["log_partition"], row["log_offset"]))


@pytest.mark.spark
def test_files_of_tasks_that_did_not_finish_are_left_out(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a task wrote that was killed, or that Spark ran a second time, is in no table."""
    history(tmp_path / "data")
    engine = SparkEngine(spark)
    parts = parts_of(engine, tmp_path / "data")
    folders = folders_in(tmp_path)
    write = stored_history._write_part
    monkeypatch.setattr(stored_history, "_write_part", partial(_written_twice, write))
    store_history(engine, parts, folders)

    assert len(read_rows(table("commits"), folders.commits)) == 7
    assert len(read_rows(table("coordinator_records"), folders.records)) == 2
    assert pq.read_table(folders.others).num_rows == 4


def _written_twice(write: Callable[..., Written], part: Part, folders: Folders, may_repeat: bool) -> Written:
    write(part, folders, may_repeat)
    for folder in folders:
        (folder / "part-killed.parquet").write_bytes(b"PAR1")
    return write(part, folders, may_repeat)


@pytest.mark.spark
def test_a_folder_that_workers_do_not_share_is_an_error(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their files would be missing."""
    history(tmp_path / "data")
    engine = SparkEngine(spark)
    parts = parts_of(engine, tmp_path / "data")
    monkeypatch.setattr(stored_history, "_write_part", _written_elsewhere)
    with pytest.raises(SparkFailure, match="not shared by all machines"):
        store_history(engine, parts, folders_in(tmp_path))


def _written_elsewhere(part: Part, folders: Folders, may_repeat: bool) -> Written:
    return Written("part-0.parquet", (3, 0, 0))


def test_no_parts_are_no_rows(engine: "Engine", tmp_path: Path) -> None:
    """A live log without records has none."""
    assert store_history(engine, [], folders_in(tmp_path)) == 0
    assert read_rows(table("commits"), folders_in(tmp_path).commits) == []


def test_large_parts_are_written_in_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task holds no more than one group of rows of each table."""
    monkeypatch.setattr(stored_history, "ROWS_A_GROUP", 2)
    folders = folders_in(tmp_path)
    for folder in folders:
        folder.mkdir()
    segment(tmp_path / "data", batch(0, 3), partition=3)
    files = Files([str(tmp_path / "data")])
    (split,) = files.splits({}, files.latest(is_growing=False))
    part = Part([split, split], "west")
    written = stored_history._write_part(part, folders, may_repeat=False)

    assert written.rows == (6, 0, 0)
    assert pq.read_metadata(folders.commits / written.name).num_row_groups == 2
    assert not list(folders.records.iterdir())
    assert not list(folders.others.iterdir())
