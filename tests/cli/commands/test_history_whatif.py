"""`fakebroker history whatif`."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from fakebroker.analysis.pipeline.duckdb_engine import DuckEngine
from fakebroker.analysis.pipeline.progress import Progress
from fakebroker.analysis.pipeline.publish import staging
from fakebroker.analysis.pipeline.rows import read_rows
from fakebroker.analysis.pipeline.tables import table
from fakebroker.cli.main import main
from tests.support.histories import make_history
from tests.support.whatif_histories import tables_of_log


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of a random history."""
    folder = tmp_path_factory.mktemp("whatif") / "history"
    with staging(DuckEngine(), folder, Progress()) as stage:
        for name, rows in tables_of_log(make_history(1))._asdict().items():
            blank: dict[str, Any] = dict.fromkeys(table(name).column_names)
            defaults = {"members": 1, "leader_epoch": -1, "metadata": ""} if name != "coordinator_records" else {}
            stage.store(name, [{**blank, **defaults, **row} for row in rows])
        stage.publish({})
    return folder


def run(*arguments: object) -> tuple[int, str]:
    """Exit code and everything that was printed."""
    result = CliRunner().invoke(main, ["history", "whatif", *map(str, arguments), "--engine", "embedded"])
    return result.exit_code, result.output


def test_who_would_lose_offsets(history: Path, tmp_path: Path) -> None:
    """It prints the groups that lose most and rows in and out, and publishes both tables."""
    code, output = run("--tables", history, "--retention", "10m,2d", "--out", tmp_path / "whatif")

    assert code == 0, output
    assert "rows in: commits" in output
    rows = read_rows(table("retention_whatif"), tmp_path / "whatif" / "retention_whatif")
    losses = read_rows(table("retention_losses"), tmp_path / "whatif" / "retention_losses")
    assert {row["retention_ms"] for row in rows} == {600_000, 2 * 86_400_000}
    assert sum(row["lost_offsets"] for row in rows) == len(losses) > 0
    shown = output[output.index("offsets lost") :].splitlines()
    assert shown[1].split() == ["group", "10m", "2d"]
    first, *counts = shown[2].replace(" (", "(").split()
    lost = {
        each["group_id"]: sum(row["lost_offsets"] for row in rows if row["group_id"] == each["group_id"])
        for each in rows
    }
    assert lost[first] == max(lost.values())
    assert sum(int(each.partition("(")[0]) for each in counts if each != "-") == lost[first]


@pytest.mark.parametrize("retention", ["", "7", "0d", "90s", "0.5m", "7d,", "week", "9999999d", "9" * 5000 + "d"])
def test_what_is_no_retention(history: Path, tmp_path: Path, retention: str) -> None:
    """A time that is none, or that no broker can be set to, is named."""
    code, output = run("--tables", history, "--retention", retention, "--out", tmp_path / "whatif")

    assert code == 2
    assert "--retention" in output
    assert not (tmp_path / "whatif").exists()


def test_commits_without_times_are_said_to_be_so(history: Path, tmp_path: Path) -> None:
    """Without the times of records nobody knows what is lost: then it does not only say that nothing is."""
    blank = {"at": None, "applied_at": None}
    rows = [row | blank for row in read_rows(table("commits"), history / "commits") if row["outcome"] == "committed"]
    with staging(DuckEngine(), tmp_path / "blank", Progress()) as stage:
        stage.store("commits", rows)
        stage.store("group_states", [])
        stage.publish({})

    code, output = run("--tables", tmp_path / "blank", "--out", tmp_path / "whatif")
    assert code == 0, output
    assert f"{len(rows)} commits have no record time" in output
    assert "no record time" not in run("--tables", history, "--out", tmp_path / "other")[1]


def test_a_folder_without_tables(tmp_path: Path) -> None:
    """It says that there are none, on one line."""
    code, output = run("--tables", tmp_path, "--out", tmp_path / "whatif")

    assert code == 2
    assert "not a folder of published tables" in output
