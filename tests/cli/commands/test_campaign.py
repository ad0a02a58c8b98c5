"""`fakebroker campaign`: what it prints, leaves behind and refuses, with the engine that needs no Java."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fakebroker.analysis.pipeline.rows import read_rows
from fakebroker.analysis.pipeline.tables import table
from fakebroker.cli.main import main
from tests.analysis.campaign.texts import BROKEN, DEPENDS, EXPIRES, PASSES, write_scenarios


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with scenarios in `s`."""
    monkeypatch.chdir(tmp_path)
    write_scenarios(tmp_path / "s", passes=PASSES, depends=DEPENDS, expires=EXPIRES)
    return tmp_path


def campaign(*words: str) -> Result:
    return CliRunner().invoke(main, ["campaign", *words])


def run(*words: str) -> Result:
    return campaign("run", *words, "--tables", "campaign", "--engine", "embedded")


def test_a_good_campaign_ends_well(folder: Path) -> None:
    """All runs passed: status 0 and one line; the tables are there."""
    result = run("s/passes.yaml", "--seeds", "20")

    assert result.exit_code == 0, result.output
    assert result.stdout == "20 runs of 1 scenario: 20 passed\n"
    assert len(read_rows(table("campaign_runs"), folder / "campaign" / "campaign_runs")) == 20
    assert read_rows(table("campaign_failures"), folder / "campaign" / "campaign_failures") == []
    about = json.loads((folder / "campaign" / "manifest.json").read_text())["campaign"]
    assert about == {"scenarios": ["s/passes.yaml"], "seeds": "1..20", "settings": [{}]}


def test_failures_are_ranked_with_their_commands() -> None:
    """The most frequent failure comes first; the status says that there are some, and `report` says it again."""
    result = run(
        "s",
        "--seeds",
        "1..6",
        "--setting",
        "offsets.retention.minutes=1,1440",
        "--setting",
        "offsets.retention.check.interval.ms=60000",
    )

    assert result.exit_code == 1
    assert "1. 10 of 12 runs of s/depends.yaml, first with seed 1, offsets.retention.check" in result.stdout
    assert "2. 6 of 12 runs of s/expires.yaml, first with seed 1, offsets.retention.check" in result.stdout
    assert "expected 42, but saw 41\n   repeat: fakebroker scenario run s/depends.yaml --config " in result.stdout
    assert result.stdout.endswith("36 runs of 3 scenarios: 20 passed, 16 failed in 2 different ways\n")
    again = campaign("report", "--tables", "campaign")
    assert (again.exit_code, again.stdout) == (1, result.stdout)


def test_journals_of_failures_are_kept(folder: Path) -> None:
    """There is a journal for each way to fail, of its first run; none when all is well."""
    result = run("s/depends.yaml", "s/passes.yaml", "--seeds", "6", "--journals", "j")

    assert "journals of 1 failed runs are in j" in result.output
    (kept,) = (folder / "j").iterdir()
    assert kept.name == "001-depends-seed-1.jsonl"
    apis = [json.loads(line).get("api") for line in kept.read_text().splitlines()]
    assert apis.count("OffsetCommit") == 2
    assert CliRunner().invoke(main, ["journal", "show", str(kept)]).exit_code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("s", "--seeds", "many"), "--seeds is a number or a range"),
        (("s", "--seeds", "5..1"), "the range from 5 to 1 is empty"),
        (("s", "--seeds", "1", "--setting", "offset.retention=1"), "there is no setting 'offset.retention'"),
        (("nowhere", "--seeds", "1"), "there is no file or folder nowhere"),
        (("s/common", "--seeds", "1"), "s/common"),
        (("broken.yaml", "--seeds", "1"), "broken.yaml:3: timelime: "),
    ],
)
def test_bad_input_ends_before_anything_is_played(folder: Path, words: tuple[str, ...], message: str) -> None:
    """What cannot be played is reported with status 2, and nothing is written."""
    (folder / "broken.yaml").write_text(BROKEN)
    if words[0] == "s/common":
        (folder / "s" / "common" / "commit.yaml").unlink()

    result = run(*words)

    assert result.exit_code == 2
    assert message in result.output
    assert not (folder / "campaign").exists()


def test_a_folder_for_journals_that_cannot_be_written_is_reported_before_anything_is_played(folder: Path) -> None:
    """Hours of runs are not spent for journals that then have no place."""
    (folder / "file").write_text("no folder")

    result = run("s/depends.yaml", "--seeds", "6", "--journals", "file/j")

    assert (result.exit_code, result.output) == (2, "Error: cannot write to file/j: Not a directory\n")
    assert not (folder / "campaign").exists()


def test_a_folder_with_other_things_is_left_alone(folder: Path) -> None:
    """Tables are not put among somebody's files."""
    (folder / "campaign").mkdir()
    (folder / "campaign" / "mine.txt").write_text("mine")

    result = run("s/passes.yaml", "--seeds", "1")

    assert result.exit_code == 2
    assert "is not a folder of published tables" in result.output
    assert [each.name for each in (folder / "campaign").iterdir()] == ["mine.txt"]


def test_a_report_needs_a_campaign(folder: Path) -> None:
    """A folder without one is reported, with the status of bad input."""
    result = campaign("report", "--tables", str(folder))

    assert result.exit_code == 2
    assert "is not a folder of published tables" in result.output
