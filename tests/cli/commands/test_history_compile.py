"""`fakebroker history compile`: from published tables to a scenario that passes."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from fakebroker.analysis.pipeline.spark_failures import SparkFailure
from fakebroker.cli.main import main
from tests.analysis.history.compile.tables_of import from_journal, from_log, publish
from tests.analysis.history.compile.test_scenario import names_in
from tests.support.histories import History, make_history

GROUP = "group-1"
AROUND = ["--around", "2026-01-10T00:00", "--window", "18d"]


@pytest.fixture(scope="module")
def history() -> History:
    """A random history of some weeks."""
    return make_history(0, steps=60)


@pytest.fixture(scope="module")
def published(history: History, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its log as published tables."""
    return publish(tmp_path_factory.mktemp("history"), from_log(history))


@pytest.fixture
def run(published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs the command in a folder of its own, without a secret in the environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FAKEBROKER_SECRET", raising=False)

    def compiled(*arguments: str, folder: Path = published) -> Result:
        return CliRunner().invoke(main, ["history", "compile", "--tables", str(folder), "--group", GROUP, *arguments])

    return compiled


def test_the_scenario_passes_when_it_is_run(run: Any) -> None:
    """What was compiled is good for `fakebroker scenario run`, as it is written."""
    result = run(*AROUND, "--out", "incident.yaml")
    assert result.exit_code == 0, result.output
    assert "steps, and it passes" in result.output
    played = CliRunner().invoke(main, ["scenario", "run", "incident.yaml"])
    assert played.exit_code == 0, played.output


def test_spark_gets_its_master_and_settings(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """--engine spark takes --master and --conf, as the other commands do; python is the default and starts no Spark."""
    asked: list[tuple[str, dict[str, str]]] = []

    @contextmanager
    def running_spark(master: str, conf: dict[str, str]) -> Iterator[None]:
        asked.append((master, conf))
        raise SparkFailure("not here")
        yield

    monkeypatch.setattr("fakebroker.cli.commands.history_compile.running_spark", running_spark)
    chosen = ["--engine", "spark", "--master", "spark://h:7077", "--conf", "a.b=c=d"]
    result = run(*AROUND, "--out", "incident.yaml", *chosen)
    assert (result.exit_code, result.output) == (3, "Error: not here\n")
    assert asked == [("spark://h:7077", {"a.b": "c=d"})]
    assert run(*AROUND, "--out", "incident.yaml").exit_code == 0
    assert len(asked) == 1


def test_anonymised_without_a_secret_one_is_made(run: Any, history: History) -> None:
    """A random secret is made, for its owner alone; no name is left; the next file has the same hashes."""
    result = run(*AROUND, "--out", "incident.yaml", "--anonymise")
    assert result.exit_code == 0, result.output
    secret = Path(".fakebroker-secret")
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert "keep it" in result.output
    text = Path("incident.yaml").read_text() + Path("incident.transcript").read_text()
    members = [member for group in history.groups.values() for member in group.members]
    names = [GROUP, *("topic-0", "topic-1", "topic-2", "client-1", "client-2", "client-3", "ä" * 5), *members]
    assert names_in(text, names) == []
    again = run(*AROUND, "--out", "again.yaml", "--anonymise")
    assert "with the secret in .fakebroker-secret" in again.output
    assert Path("again.yaml").read_text() == Path("incident.yaml").read_text()


def test_the_secret_of_the_environment_or_a_file(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same secret gives the same file, wherever it is from; no secret is made then."""
    Path("secret").write_text("a secret of ours\n")
    assert run(*AROUND, "--out", "a.yaml", "--anonymise", "--secret-file", "secret").exit_code == 0
    monkeypatch.setenv("FAKEBROKER_SECRET", "a secret of ours")
    assert run(*AROUND, "--out", "b.yaml", "--anonymise").exit_code == 0
    assert Path("a.yaml").read_text() == Path("b.yaml").read_text()
    assert not Path(".fakebroker-secret").exists()


def test_a_scenario_that_does_not_pass_has_another_name(run: Any) -> None:
    """With a setting that was not in force the play differs: said, with the line, and kept as X.failed.yaml."""
    wrong = ["--group", "simple-2", "--config", "offsets.retention.minutes=1"]
    result = run("--around", "2026-01-10", "--window", "4d", "--out", "incident.yaml", *wrong)
    assert result.exit_code == 1
    assert "incident.failed.yaml does not pass: line " in result.output
    assert Path("incident.failed.yaml").exists()
    assert not Path("incident.yaml").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--around", "yesterday"], "'yesterday' is not a time"),
        (["--around", "2026-01-10", "--window", "long"], "'long' is not a duration"),
        (["--around", "2025-01-08"], "there are no records of group group-1 before the end of the window"),
        (["--around", "2026-01-10", "--config", "offsets.retention"], "is not NAME=VALUE"),
        (["--around", "2026-01-10", "--config", "offsets.retension.minutes=1"], "offsets.retension.minutes"),
        (["--around", "2026-01-10", "--source", "another"], "in source another"),
    ],
)
def test_what_cannot_be_compiled(run: Any, arguments: list[str], message: str) -> None:
    """Bad arguments are reported in a line, with status 2; nothing is written."""
    result = run(*arguments, "--out", "incident.yaml")
    assert result.exit_code == 2
    assert message in result.output
    assert os.listdir() == []


def test_a_file_is_overwritten_only_by_force(run: Any) -> None:
    """A scenario that somebody may have changed stays."""
    Path("incident.yaml").write_text("mine")
    assert "--force overwrites it" in run(*AROUND, "--out", "incident.yaml").output
    assert Path("incident.yaml").read_text() == "mine"
    assert run(*AROUND, "--out", "incident.yaml", "--force").exit_code == 0


def test_a_folder_without_tables(run: Any, tmp_path: Path) -> None:
    """It says what makes tables."""
    empty = publish(tmp_path, {})
    result = run(*AROUND, "--out", "incident.yaml", folder=empty)
    assert result.exit_code == 2
    assert "`history decode` and `pipeline build` make them" in result.output


def test_a_journal_and_several_sources(run: Any, history: History, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Where a group is in two sources, one has to be chosen; a journal compiles like a log."""
    other = make_history(4, steps=60)
    tables = from_journal(history)
    both = {name: [*rows, *from_journal(other)[name]] for name, rows in tables.items()}
    folder = publish(tmp_path_factory.mktemp("journals"), both)
    several = run(*AROUND, "--out", "incident.yaml", folder=folder)
    assert several.exit_code == 2
    assert "choose one with --source: run-0, run-4" in several.output
    chosen = run(*AROUND, "--out", "incident.yaml", "--source", "run-0", folder=folder)
    assert chosen.exit_code == 0, chosen.output


@pytest.mark.parametrize("made_from", [from_log, from_journal])
def test_a_group_with_spaces_in_its_name(run: Any, history: History, tmp_path: Path, made_from: Any) -> None:
    """A name with spaces is one name in every step, also in those that take more text after it."""
    name = "kp <b>of us</b> # & all"
    tables = {
        table: [{**row, "group_id": name} if row.get("group_id") == GROUP else row for row in rows]
        for table, rows in made_from(history).items()
    }
    folder = publish(tmp_path / "odd", tables)

    result = run(*AROUND, "--group", name, "--out", "odd.yaml", folder=folder)

    assert result.exit_code == 0, result.output
    assert f"coordinator: 'load {name}'" in Path("odd.yaml").read_text()


def test_damaged_tables_are_reported_in_a_line(run: Any, history: History, tmp_path: Path) -> None:
    """Of a table whose file is damaged or gone the error says which it is; it is no stack trace."""
    folder = publish(tmp_path / "damaged", from_log(history))
    (file,) = (folder / "commits").iterdir()
    data = file.read_bytes()
    file.write_bytes(data[:40] + bytes(200) + data[240:])
    broken = run(*AROUND, "--out", "incident.yaml", folder=folder)
    file.unlink()
    gone = run(*AROUND, "--out", "incident.yaml", folder=folder)

    assert (broken.exit_code, gone.exit_code) == (2, 2)
    assert f'Error: a table cannot be read: Invalid Input Error: Failed to read file "{file}"' in broken.output
    assert f"Error: {folder}/commits was changed after it was published" in gone.output
    assert not Path("incident.yaml").exists()
