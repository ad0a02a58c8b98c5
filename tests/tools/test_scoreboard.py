"""The page of the scoreboard says what was judged, and never that something passed that was not run."""

import json
from pathlib import Path

import pytest

from tools.differential.played import Judged, Play, keep, read
from tools.differential.worker import Found, Result
from tools.scoreboard import __main__ as scoreboard
from tools.scoreboard import differential_section, start_kafka, targets
from tools.scoreboard import page as pages
from tools.scoreboard.differential_section import section
from tools.scoreboard.page import PAGE, page, unexplained, with_plays
from tools.scoreboard.targets import TARGETS

RESULT = {
    "total": {"as Kafka": 2, "differs": 1, "needs settings": 4},
    "chapters": {"groups": {"as Kafka": 2, "differs": 1}, "log": {"needs settings": 4}},
    "differs": {"groups/x": "line 2: a | b"},
    "version": "1.2",
    "date": "2026-11-27",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where results are, and the page; of the brokers only the first was judged."""
    monkeypatch.setattr(targets, "RESULTS", tmp_path)
    monkeypatch.setattr(pages, "PAGE", tmp_path / "scoreboard.md")
    monkeypatch.setattr(pages, "EXPLAINED", tmp_path / "explained.json")
    (tmp_path / "explained.json").write_text("{}")
    (tmp_path / "fakebroker.json").write_text(json.dumps(RESULT))
    (tmp_path / "kafka-4.3.1.json").write_text('{"not run": "no java on the PATH"}')
    return tmp_path


def test_what_was_not_run_has_no_score(folder: Path) -> None:
    """A broker that cannot be started here is "not run" in each chapter, with the reason; its score is no number."""
    lines = page().splitlines()

    groups, all_of_them = (
        next(line for line in lines if line.startswith(f"| {each}")) for each in ("Groups", "**all**")
    )
    assert groups.split(" | ")[1:3] == ["2 of 3 (66.7 %)", "not run"]
    assert all_of_them.split(" | ")[2] == "**not run**"
    assert "| Kafka 4.3.1 |  | not run: no java on the PATH |" in lines
    assert next(line for line in lines if line.startswith("| Log")).split(" | ")[1] == "-"


def test_every_difference_of_ours_needs_a_reason(folder: Path) -> None:
    """A case that differs on fakebroker is listed with its reason; without one the run fails."""
    assert unexplained() == ["groups/x"]
    assert "| groups/x | line 2: a \\| b | not explained yet |" in page()

    (folder / "explained.json").write_text('{"groups/x": "on purpose"}')

    assert unexplained() == []
    assert "| on purpose |" in page()


def test_plays_of_a_pair_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps are summed by pair and chapter; a difference is mended, left or open; a chapter without steps says why."""
    plays = tmp_path / "played.json"
    for number, kinds in enumerate([["Fetch: a", "Fetch: b"], ["Fetch: a", "Join: c"]]):
        play = Play("Kafka 4.3.1", ("fakebroker 0.1.0", "fakebroker 0.1.1 1f0c7e2a")[number], seed=number)
        play.add(Result("log", 1_500, 70, [Found(kind, kind, "file") for kind in kinds]))
        play.add(Result("share", why_not="ShareFetch not served by both"))
        play.add(Result("streams"))
        keep(play, plays)
    monkeypatch.setattr(differential_section, "read", lambda: read(plays))
    known = [Judged("Fetch of a", ["Fetch: a"], "mended (FT-1)"), Judged("c", ["Join: c"], "left")]
    monkeypatch.setattr(differential_section, "judged", lambda: known)

    lines = section().splitlines()

    summary = next(line for line in lines if line.startswith("| Kafka 4.3.1 and fakebroker |"))
    assert summary.split(" | ")[2:] == ["3,000", "3", "1 |"]
    assert "| log | 3,000 |" in lines
    assert "| share | not served |" in lines
    assert "| streams | not run |" in lines
    assert lines[-3:] == ["| Fetch of a | mended (FT-1) |", "| c | left |", "| Fetch: b | open |"]


def test_the_page_shows_what_is_kept() -> None:
    """The section of the page is that of played.json; `python -m tools.scoreboard --plays` writes it."""
    text = PAGE.read_text(encoding="utf-8")

    assert with_plays(text) == text


def test_counts_are_those_of_the_cases() -> None:
    """Counts that are made again after cases were played again are by verdict, of all and by chapter."""
    cases = [{"chapter": "log", "verdict": "as Kafka"}, {"chapter": "log", "verdict": "differs"}]

    both = {"as Kafka": 1, "differs": 1}
    assert scoreboard.counted(cases) == {"total": both, "chapters": {"log": both}}


def test_without_java_or_go_brokers_are_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kafkas need Java and kfake needs Go; without them the reason says so, and nothing is started."""
    monkeypatch.setenv("PATH", "")

    reasons = {target.name: target.why_not() for target in TARGETS}

    assert reasons["kafka-4.3.1"] == reasons["kafka-3.9.1"] == "no java on the PATH"
    assert reasons["kfake"] == "no go on the PATH"
    assert reasons["fakebroker"] is None
    assert start_kafka.why_not("4.3.1") == "no java on the PATH"
