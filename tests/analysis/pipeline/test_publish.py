"""Publishing tables."""

import io
import json
import os
import shutil
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from fakebroker.analysis.pipeline import publish as publish_module
from fakebroker.analysis.pipeline import spark_engine
from fakebroker.analysis.pipeline.duckdb_engine import DuckEngine
from fakebroker.analysis.pipeline.engines import Engine
from fakebroker.analysis.pipeline.progress import Progress
from fakebroker.analysis.pipeline.publish import ChecksFailed, Published, check_tables, staging
from fakebroker.analysis.pipeline.rows import read_rows, write_rows
from fakebroker.analysis.pipeline.spark_engine import SparkEngine
from fakebroker.analysis.pipeline.spark_failures import SparkFailure
from fakebroker.analysis.pipeline.tables import table
from fakebroker.cli.main import main
from fakebroker.protocol.errors import FakebrokerError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXPIRIES, ENDS = table("expiries"), table("log_ends")


def expiry(seq: int, due_at: int = 5, expired_at: int = 10) -> dict[str, Any]:
    """A row of expiries."""
    return {
        "source": "run", "seq": seq, "part": 0, "group_id": "g", "topic": "t", "partition": 0, "committed_offset": 7,
        "committed_at": 1, "due_at": due_at, "expired_at": expired_at, "rule": "EX-3",
    }  # fmt: skip


def put(engine: Engine, target: Path, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Publish a table of expiries."""
    with staging(engine, target, Progress(io.StringIO())) as stage:
        stage.store("expiries", engine.frame(EXPIRIES, rows))
        return stage.publish({"rows_in": len(rows)})


def test_what_is_published_has_a_manifest(engine: Engine, tmp_path: Path) -> None:
    """A published folder holds the tables, and a manifest that names their files and rows; nothing else is left."""
    put(engine, tmp_path / "out", [expiry(1), expiry(2)])

    published = Published(tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]
    assert published.tables["expiries"]["rows"] == 2
    assert published.manifest["rows_in"] == 2
    assert sorted(row["seq"] for row in read_rows(EXPIRIES, published.folder_of("expiries"))) == [1, 2]
    on_disk = {path.name for path in published.folder_of("expiries").iterdir()}
    assert on_disk == set(published.tables["expiries"]["files"])


def test_a_failed_check_publishes_nothing(engine: Engine, tmp_path: Path) -> None:
    """When a check returns rows, what was published stays, and the error says which rows."""
    put(engine, tmp_path / "out", [expiry(1)])
    before = (tmp_path / "out" / "manifest.json").read_text()

    with pytest.raises(ChecksFailed, match="nothing expires before it is due") as raised:
        put(engine, tmp_path / "out", [expiry(1), expiry(2, due_at=20)])
    assert [(each.check.name, len(each.rows)) for each in raised.value.failed] == [("not too early", 1)]
    assert raised.value.failed[0].rows[0]["seq"] == 2
    with pytest.raises(ChecksFailed, match="no two rows have the same source, seq, part"):
        put(engine, tmp_path / "out", [expiry(1), expiry(1)])
    with pytest.raises(ChecksFailed, match="are never null"):
        put(engine, tmp_path / "out", [{**expiry(1), "rule": None}])
    assert (tmp_path / "out" / "manifest.json").read_text() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_tables_that_are_not_made_anew_are_kept(engine: Engine, tmp_path: Path) -> None:
    """Publishing one table keeps the others; adding rows keeps those that are there and adds those that are new."""
    put(engine, tmp_path / "out", [expiry(1)])
    with staging(engine, tmp_path / "out", Progress(io.StringIO())) as stage:
        stage.store("log_ends", engine.frame(ENDS, []))
        stage.publish({})
    with staging(engine, tmp_path / "out", Progress(io.StringIO())) as stage:
        stage.add("expiries", engine.frame(EXPIRIES, [expiry(2), expiry(1, due_at=6)]))
        stage.publish({})

    published = Published(tmp_path / "out")
    assert {name: about["rows"] for name, about in published.tables.items()} == {"expiries": 2, "log_ends": 0}
    rows = read_rows(EXPIRIES, published.folder_of("expiries"))
    assert sorted((row["seq"], row["due_at"]) for row in rows) == [(1, 5), (2, 5)]


def test_rows_that_were_written_ahead_are_of_the_table(engine: Engine, tmp_path: Path) -> None:
    """They stand beside those that the table is stored with; its number of rows is that of both."""

    def write(ahead: Path, left: Path) -> int:
        return write_rows(EXPIRIES, [expiry(1), expiry(2)], ahead) + write_rows(ENDS, [], left)

    with staging(engine, tmp_path / "out", Progress(io.StringIO())) as stage:
        left, rows = stage.write_ahead("log_ends", ["expiries"], write)
        stage.store("expiries", engine.frame(EXPIRIES, [expiry(3)]))
        assert rows == 2
        assert engine.rows(left) == []
        assert stage.made["expiries"] == 3
        stage.publish({})

    published = Published(tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]
    assert sorted(row["seq"] for row in read_rows(EXPIRIES, published.folder_of("expiries"))) == [1, 2, 3]


def test_an_error_in_between_leaves_things_as_they_were(tmp_path: Path) -> None:
    """Whatever fails while tables are made, what was published stays, and nothing is left beside it."""
    put(DuckEngine(), tmp_path / "out", [expiry(1)])

    def fail() -> None:
        with staging(DuckEngine(), tmp_path / "out", Progress(io.StringIO())) as stage:
            stage.store("expiries", [])
            raise RuntimeError("in between")

    with pytest.raises(RuntimeError, match="in between"):
        fail()
    assert Published(tmp_path / "out").tables["expiries"]["rows"] == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_a_publication_that_was_killed_between_its_renames_is_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed when the old folder had gone and the new one had not come, the next reader finds the old one again."""
    put(DuckEngine(), tmp_path / "out", [expiry(1)])
    rename = os.rename

    def killed(source: Any, target: Any) -> None:
        if target == tmp_path / "out":
            raise KeyboardInterrupt
        rename(source, target)

    monkeypatch.setattr(os, "rename", killed)
    with pytest.raises(KeyboardInterrupt):
        put(DuckEngine(), tmp_path / "out", [expiry(1), expiry(2)])
    monkeypatch.undo()
    assert not (tmp_path / "out").exists()

    assert Published(tmp_path / "out").tables["expiries"]["rows"] == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    """A folder without a manifest that has something in it is never written to, nor read as one."""
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_bytes(b"cat")

    with pytest.raises(FakebrokerError, match="is not a folder of published tables; it was not changed"):
        put(DuckEngine(), tmp_path / "photos", [])
    with pytest.raises(FakebrokerError, match=r"it has no manifest\.json"):
        Published(tmp_path / "photos")
    with pytest.raises(FakebrokerError, match="no such folder"):
        Published(tmp_path / "nothing")
    (tmp_path / "photos" / "manifest.json").write_text("{")
    with pytest.raises(FakebrokerError, match="is not a manifest that can be read"):
        Published(tmp_path / "photos")


def test_checks_of_tables_that_are_not_there_are_left_out_and_counted(tmp_path: Path) -> None:
    """A check that asks a table that is not published is left out, and said to be."""
    put(DuckEngine(), tmp_path / "out", [expiry(1)])
    folder = tmp_path / "out"

    assert check_tables(DuckEngine(), {"expiries": folder / "expiries"}, Progress(io.StringIO())) == {
        "run": 3,
        "left_out": 0,
    }
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["checks"] == {"run": 3, "left_out": 0}


def test_progress_tells_stages_and_rows(tmp_path: Path) -> None:
    """Each stage is a line with its name and rows."""
    out = io.StringIO()
    with staging(DuckEngine(), tmp_path / "out", Progress(out)) as stage:
        stage.store("expiries", [expiry(n) for n in range(1234)])
        stage.publish({})

    first, second = out.getvalue().splitlines()
    assert first.split()[:3] == ["expiries", "1,234", "rows"]
    assert second.split()[:3] == ["checks", "3", "checks"]


def test_one_process_at_a_time_writes_to_a_folder(tmp_path: Path) -> None:
    """A second run for the folder fails and changes nothing; readers are not hindered."""
    put(DuckEngine(), tmp_path / "out", [expiry(1)])
    first = staging(DuckEngine(), tmp_path / "out", Progress(io.StringIO()))
    stage = first.__enter__()

    with pytest.raises(FakebrokerError, match=rf"is writing to {tmp_path}/out \(process {os.getpid()}\); try again"):
        put(DuckEngine(), tmp_path / "out", [expiry(2)])
    assert Published(tmp_path / "out").tables["expiries"]["rows"] == 1
    stage.add("expiries", stage.engine.frame(EXPIRIES, [expiry(3)]))
    stage.publish({})
    first.__exit__(None, None, None)
    put(DuckEngine(), tmp_path / "other", [])

    rows = read_rows(EXPIRIES, Published(tmp_path / "out").folder_of("expiries"))
    assert sorted(row["seq"] for row in rows) == [1, 3]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "out"]


def test_who_reads_between_the_renames_of_a_living_writer_waits_for_the_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader does not undo a publication whose writer is alive: it looks again, and finds what was published."""
    put(DuckEngine(), tmp_path / "out", [expiry(1)])
    rename = os.rename
    found: list[int] = []
    reader = threading.Thread(target=lambda: found.append(Published(tmp_path / "out").tables["expiries"]["rows"]))
    looked = threading.Event()

    def read_in_between(source: Any, target: Any) -> None:
        if target == tmp_path / "out":
            reader.start()
            assert looked.wait(10)
        rename(source, target)

    monkeypatch.setattr(os, "rename", read_in_between)
    monkeypatch.setattr(publish_module, "sleep", lambda _: looked.set())
    put(DuckEngine(), tmp_path / "out", [expiry(1), expiry(2)])
    reader.join(10)

    assert found == [2]


def test_what_killed_commands_left_goes_with_the_next_one(tmp_path: Path) -> None:
    """A process that was killed leaves its lock, its staging and scratch folders: they hinder nobody, and go."""
    (tmp_path / ".out.lock").write_text("1")
    (tmp_path / ".out.staging-1" / "expiries").mkdir(parents=True)
    (tmp_path / ".out.scratch-1").mkdir()
    put(DuckEngine(), tmp_path / "out", [expiry(1)])

    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_a_file_that_was_changed_in_place_is_noticed_by_the_check(tmp_path: Path) -> None:
    """A byte that is another and no other length: `pipeline check` says which file, also after a later publication."""
    out = tmp_path / "out"
    put(DuckEngine(), out, [expiry(1)])
    (file,) = (out / "expiries").iterdir()
    check = ["--tables", str(out), "--engine", "embedded"]
    assert CliRunner().invoke(main, ["pipeline", "check", *check]).exit_code == 0

    content = bytearray(file.read_bytes())
    content[10] ^= 1  # of the data: the publication reads the end of the file
    file.write_bytes(content)
    with staging(DuckEngine(), out, Progress(io.StringIO())) as stage:
        stage.store("log_ends", [])
        stage.publish({})

    result = CliRunner().invoke(main, ["pipeline", "check", *check])
    assert result.exit_code == 1
    assert f"Error: {out}/expiries was changed after it was published: {file.name} differs." in result.output


def test_tables_without_digests_are_checked_as_before(tmp_path: Path) -> None:
    """A manifest that an earlier version wrote is no error."""
    out = tmp_path / "out"
    manifest = put(DuckEngine(), out, [expiry(1)])
    del manifest["tables"]["expiries"]["digests"]
    (out / "manifest.json").write_text(json.dumps(manifest))

    Published(out).check_contents()


@pytest.mark.parametrize("damage", ["missing", "shorter", "added", "gone"])
def test_a_table_whose_files_are_not_those_that_were_published_is_an_error(tmp_path: Path, damage: str) -> None:
    """Deleted, cut or added files are no empty table: reading and adding fail, and say where. It can be made anew."""
    out = tmp_path / "out"
    put(DuckEngine(), out, [expiry(1)])
    (file,) = (out / "expiries").iterdir()
    match damage:
        case "missing":
            file.unlink()
        case "shorter":
            file.write_bytes(file.read_bytes()[:-1])
        case "added":
            file.with_name("more.parquet").write_bytes(file.read_bytes())
        case "gone":
            shutil.rmtree(file.parent)

    with pytest.raises(
        FakebrokerError, match=f"{out}/expiries was changed after it was published: .*(missing|length|not pub)"
    ):
        Published(out).folder_of("expiries")
    with (
        pytest.raises(FakebrokerError, match="was changed after it was published"),
        staging(DuckEngine(), out, Progress(io.StringIO())) as stage,
    ):
        stage.add("expiries", stage.engine.frame(EXPIRIES, [expiry(2)]))
    with staging(DuckEngine(), out, Progress(io.StringIO())) as stage:
        stage.store("log_ends", [])
        with pytest.raises(FakebrokerError, match="was changed after it was published"):
            stage.publish({})
    put(DuckEngine(), out, [expiry(1), expiry(2)])
    assert Published(out).tables["expiries"]["rows"] == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"manifest_version": 7}, "is of another version of fakebroker: manifest_version is 7, not 1"),
        ({"tables": {"weather": {}}}, "is of another version of fakebroker: it has a table 'weather'"),
        ({"tables": []}, "is not a manifest that can be read"),
        ({"tables": {"expiries": {"rows": 1}}}, "is not a manifest that can be read"),
    ],
)
def test_a_manifest_of_another_version_is_an_error(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    """Tables of another version are neither read nor written over."""
    put(DuckEngine(), tmp_path / "out", [expiry(1)])
    path = tmp_path / "out" / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))

    for attempt in (lambda: Published(tmp_path / "out"), lambda: put(DuckEngine(), tmp_path / "out", [])):
        with pytest.raises(FakebrokerError, match=f"manifest.json {message}"):
            attempt()


@pytest.mark.spark
def test_tables_that_workers_wrote_to_other_disks_are_not_taken_for_empty_ones(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """After a write without files there is nothing to publish: Spark writes one for a table without rows, too."""
    away = SparkEngine(spark)
    frame = _WrittenElsewhere(away.frame(EXPIRIES, [expiry(1)]))
    with pytest.raises(SparkFailure, match="is not shared by all machines of the cluster"):
        away.store(EXPIRIES, frame, tmp_path / "expiries")


class _WrittenElsewhere:
    """A DataFrame whose files come to be on another machine: here there is only what the driver writes."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self.write = self

    def select(self, *_columns: str) -> "_WrittenElsewhere":
        return self

    def parquet(self, folder: str) -> None:
        Path(folder).mkdir()
        (Path(folder) / "_SUCCESS").touch()


@pytest.mark.spark
@pytest.mark.parametrize("most_rows", [0, 1_000_000])
def test_spark_checks_what_is_large_itself(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_rows: int
) -> None:
    """The same rows fail a check, whoever asks: Spark, or DuckDB for little."""
    monkeypatch.setattr(spark_engine, "MAX_CHECKED_ROWS", most_rows)
    rows = [expiry(1), expiry(1), expiry(2, expired_at=3)]
    write_rows(EXPIRIES, rows, tmp_path / "expiries")
    folders = {"expiries": [tmp_path / "expiries"]}
    found = [SparkEngine(spark).asked(check.query, folders) for check in EXPIRIES.all_checks]

    assert [len(each) for each in found] == [1, 0, 1]
    assert (found[0][0]["times"], found[2][0]["expired_at"]) == (2, 3)
