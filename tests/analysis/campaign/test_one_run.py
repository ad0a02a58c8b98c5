"""One run as a row: what it says, and that it says the same wherever it is played."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from fakebroker.analysis.campaign import one_run
from fakebroker.analysis.campaign.on_python import runs_here
from fakebroker.analysis.campaign.one_run import play_run
from fakebroker.analysis.campaign.plan import read_campaign
from fakebroker.analysis.pipeline.tables import table
from fakebroker.cli.main import main
from fakebroker.scenarios.playing.player import Player
from fakebroker.scenarios.running.run import Task, play
from tests.analysis.campaign.texts import DEPENDS, EXPIRES, PASSES, write_scenarios

SETTINGS = ["offsets.retention.minutes=1,1440", "offsets.retention.check.interval.ms=60000"]
BRIEFLY = '{"offsets.retention.check.interval.ms": "60000", "offsets.retention.minutes": "1"}'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with scenarios."""
    monkeypatch.chdir(tmp_path)
    return write_scenarios(tmp_path / "s", passes=PASSES, depends=DEPENDS, expires=EXPIRES).relative_to(tmp_path)


def test_a_row_has_the_columns_of_the_contract(folder: Path) -> None:
    """Every column is there, and nothing that tells of the machine or the hour."""
    campaign = read_campaign([str(folder)], SETTINGS, range(4))

    rows = [play_run(campaign, number) for number in range(len(campaign))]

    assert all(tuple(row) == table("campaign_runs").column_names for row in rows)
    assert {row["outcome"] for row in rows} == {"passed", "failed"}


def test_settings_go_before_those_of_the_scenario(folder: Path) -> None:
    """With a minute of retention the offset is gone after an hour, with a day it is there."""
    campaign = read_campaign([str(folder / "expires.yaml")], SETTINGS, range(1))

    rows = [play_run(campaign, number) for number in range(len(campaign))]

    assert {row["settings"]: row["outcome"] for row in rows} == {
        BRIEFLY: "failed",
        BRIEFLY.replace('"1"', '"1440"'): "passed",
    }
    failed = next(row for row in rows if row["outcome"] == "failed")
    assert failed["line"] == 7
    assert failed["failure"].startswith("s/expires.yaml:7: expect: ")
    assert failed["virtual_ms"] < 60_000 < 3_600_000


def test_a_run_of_a_campaign_is_that_of_the_command(folder: Path) -> None:
    """The same seed of the same file gives the transcript that `fakebroker scenario run` has, whoever read the file."""
    from hashlib import sha256

    campaign = read_campaign([str(folder)], [], range(5))
    for number in range(len(campaign)):
        row = play_run(campaign, number)
        outcome = play(Task(row["scenario"], seed=row["seed"], keeps_transcript=True))

        assert row["transcript_hash"] == sha256(outcome.transcript.encode()).hexdigest()


def test_several_processes_give_what_one_gives(folder: Path) -> None:
    """However many processes play, the rows are the same, in the same order."""
    campaign = read_campaign([str(folder)], SETTINGS, range(40))

    assert list(runs_here(campaign, 1)) == list(runs_here(campaign, 3))


def test_the_command_of_a_failure_repeats_it(folder: Path) -> None:
    """It fails with the same words; that of another seed or setting would not."""
    campaign = read_campaign([str(folder)], SETTINGS, range(4))
    failed = [row for row in runs_here(campaign, 1) if row["outcome"] == "failed"]

    assert {row["scenario"] for row in failed} == {"s/depends.yaml", "s/expires.yaml"}
    for row in failed:
        words = row["repeat"].split()
        assert words[0] == "fakebroker"
        result = CliRunner().invoke(main, words[1:])
        assert result.exit_code == 1
        place, _, problem = row["failure"].partition(": expect: {group: billing, offsets: {orders-0: 42}}: ")
        assert place in result.output
        assert problem in result.output


def test_what_goes_wrong_inside_is_a_broken_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug of ours ends one run and not the campaign; its row has no path of the machine."""

    def play_wrong(self: Player) -> None:
        raise RuntimeError(f"cannot go on with {self!r}")

    campaign = read_campaign([str(folder / "passes.yaml")], [], range(1))
    monkeypatch.setattr(Player, "play", play_wrong)

    row = play_run(campaign, 0)

    assert row["outcome"] == one_run.BROKEN
    assert "RuntimeError: cannot go on with" in row["failure"]
    assert "0x..." in row["failure"]
    assert "site-packages" not in row["failure"]
    assert "Traceback" not in row["failure"]
    assert row["line"] is None
    assert row["transcript_hash"] is None
    assert json.loads(row["settings"]) == {}
