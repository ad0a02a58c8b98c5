"""`fakebroker pipeline run`, and the directory of tables that all commands share. With the embedded engine."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fakebroker import VirtualBroker
from fakebroker.analysis.pipeline.publish import Published
from fakebroker.cli.main import main
from tests.support.following import follow
from tests.support.published import differences


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a journal of a group in `journals`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "journals").mkdir()
    with VirtualBroker() as broker:
        broker.create_topic("orders")
        client = broker.client("svc-1")
        client.join("billing", ["orders"])
        client.commit({("orders", 0): 0}, group_id="other")
        broker.journal.save(tmp_path / "journals" / "run.jsonl")
    return tmp_path


def fakebroker(*words: str) -> Result:
    engine = [] if words[:2] == ("pipeline", "report") else ["--engine", "embedded"]
    return CliRunner().invoke(main, [*words, *engine])


def test_run_does_what_the_commands_do_one_after_the_other(folder: Path) -> None:
    """The same tables and the same report as of ingest, build and report; the tables are published once."""
    steps = [
        fakebroker("pipeline", "ingest", "journals", "--tables", "by-step"),
        fakebroker("pipeline", "build", "--tables", "by-step"),
        fakebroker("pipeline", "report", "--tables", "by-step", "--markdown", "by-step.md"),
    ]
    done = fakebroker("pipeline", "run", "journals", "--report", "run.html", "--markdown", "run.md")

    assert [each.exit_code for each in (*steps, done)] == [0, 0, 0, 0], done.output
    assert differences(Published(folder / "by-step"), Published(folder / "tables")) == []
    made, by_step = (
        (folder / name).read_text().partition("## Tables, checks and rejects")[0] for name in ("run.md", "by-step.md")
    )
    assert made == by_step.replace("by-step", "tables")
    assert "## Rebalances" in made
    assert (folder / "run.html").is_file()
    assert "published in tables, " in done.stdout
    assert done.stdout.count("published") == 1


def test_a_run_that_fails_writes_nothing(folder: Path) -> None:
    """A missing journal is an error before tables or a report are written."""
    failed = fakebroker("pipeline", "run", "nowhere")

    assert failed.exit_code == 2
    assert "no journal found at 'nowhere'" in failed.output
    assert [each.name for each in folder.iterdir()] == ["journals"]


def test_losses_lie_beside_what_they_are_made_of_until_that_changes(folder: Path) -> None:
    """`history whatif` adds its tables to those that it reads; `pipeline build` takes them away, since they are old."""
    fakebroker("pipeline", "run", "journals")
    built = set(Published(folder / "tables").tables)

    asked = fakebroker("history", "whatif", "--retention", "1d")
    with_losses = set(Published(folder / "tables").tables)
    again = fakebroker("pipeline", "build")

    assert (asked.exit_code, again.exit_code) == (0, 0), asked.output + again.output
    assert with_losses - built == {"retention_losses", "retention_whatif"}
    assert set(Published(folder / "tables").tables) == built


@pytest.mark.parametrize(
    "command", [("pipeline", "build"), ("pipeline", "report"), ("history", "whatif"), ("campaign", "report")]
)
def test_a_directory_that_is_not_utf_8_is_refused(command: tuple[str, str]) -> None:
    """Manifests and reports have its name, which is text."""
    result = CliRunner().invoke(main, [*command, "--tables", "caf\udce9"])

    assert result.exit_code == 2
    assert "is not UTF-8" in result.output


@pytest.mark.parametrize("command", ["run", "ingest"])
def test_journals_of_which_no_line_can_be_read(folder: Path, command: str) -> None:
    """A journal of another version is an error that says so; with one that can be read its lines are rejects."""
    lines = re.sub(r'"schema_version": *\d+', '"schema_version": 99', (folder / "journals" / "run.jsonl").read_text())
    (folder / "other").mkdir()
    (folder / "other" / "later.jsonl").write_text(lines)
    failed = fakebroker("pipeline", command, "other")

    assert failed.exit_code == 2
    assert re.search(r"none of \d+ lines can be read; of \d+, among them some of \S*later.jsonl: ", failed.output)
    assert "schema_version is 99" in failed.output
    assert not (folder / "tables").exists()
    assert fakebroker("pipeline", command, "other", "journals").exit_code == 0


def test_follow_publishes_what_brokers_write(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that come, grow and are finished are added in rounds, with the report; the end is that of a batch."""
    lines = (folder / "journals" / "run.jsonl").read_bytes().splitlines(keepends=True)
    finished, growing = folder / "live" / "run.jsonl", folder / "live" / "run.jsonl.open"
    growing.parent.mkdir()
    events: list[int] = []

    def known() -> None:
        published = Published(folder / "tables")
        events.append(published.tables["events"]["rows"])
        assert published.tables["rejects"]["rows"] == 0
        assert (folder / "report.html").is_file()

    result = follow(
        monkeypatch,
        ["pipeline", "run", "live"],
        [
            lambda: growing.write_bytes(b"".join(lines[:3]) + lines[3][:20]),  # which is no whole line yet
            lambda: (known(), growing.write_bytes(b"".join(lines[:5]))),
            lambda: (known(), growing.write_bytes(b"".join(lines)), growing.rename(finished)),
            known,
        ],
    )
    done = fakebroker("pipeline", "run", "journals", "--tables", "batch")

    assert (result.exit_code, done.exit_code) == (0, 0), result.output
    assert events == [3, 5, len(lines)]
    found = differences(Published(folder / "batch"), Published(folder / "tables"))
    assert [each for each in found if not each.startswith("events: ")] == []  # whose files have other names


def test_bad_lines_do_not_end_a_follower(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not end the command, even if no line of a file can be read."""
    result = follow(
        monkeypatch, ["pipeline", "run", "journals"], [lambda: (folder / "journals" / "bad.jsonl").write_text("bad\n")]
    )

    assert result.exit_code == 0, result.output
    assert Published(folder / "tables").tables["rejects"]["rows"] == 1


@pytest.mark.parametrize("option", [("--engine", "spark"), ("--master", "spark://a:1"), ("--conf", "a=b")])
def test_follow_needs_no_spark(option: tuple[str, str]) -> None:
    """The embedded engine does it; Spark has streams."""
    failed = CliRunner().invoke(main, ["pipeline", "run", "journals", "--follow", *option])

    assert failed.exit_code == 2
    assert "--follow uses the embedded engine" in failed.output
