"""`fakebroker journal show|diff|trace|pcap FILES`."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fakebroker import FakeBroker
from fakebroker.cli import main


@pytest.fixture
def saved(tmp_path: Path) -> str:
    path = tmp_path / "run.jsonl"
    with FakeBroker() as broker:
        broker.client("svc-1").join("billing")
        broker.journal.save(path)
    return str(path)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["journal", *arguments])


def test_show_prints_lines_in_words(saved: str) -> None:
    """All of them, or those of a kind, client or group."""
    assert "svc-1: JoinGroup v9 of group billing -> MEMBER_ID_REQUIRED" in run("show", saved).output
    assert all(
        "Empty" in line or "Preparing" in line
        for line in run("show", "--kind", "transition", saved).output.splitlines()
    )
    assert "connected" not in run("show", "--client", "svc-1", saved).output
    assert "JoinGroup" in run("show", "--group", "billing", saved).output


def test_show_knows_the_kinds(saved: str) -> None:
    """A misspelt one is an error that lists them."""
    found = run("show", "--kind", "transitions", saved)
    assert (found.exit_code, "'transitions': there is no such kind, only" in found.output) == (1, True)


def test_diff_has_a_status(saved: str, tmp_path: Path) -> None:
    """0 without differences, 1 with."""
    assert run("diff", saved, saved).exit_code == 0
    lines = Path(saved).read_text().splitlines(keepends=True)
    (tmp_path / "other.jsonl").write_text("".join(lines[:4]))
    found = run("diff", saved, str(tmp_path / "other.jsonl"))
    assert (found.exit_code, found.output.count("steps here") > 0) == (1, True)


def test_exports(saved: str, tmp_path: Path) -> None:
    """A trace and a capture are written from files."""
    assert run("trace", saved, "--out", str(tmp_path / "t.json")).exit_code == 0
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert run("pcap", saved, "--out", str(tmp_path / "t.pcap")).exit_code == 0
    assert (tmp_path / "t.pcap").stat().st_size > 500


def test_errors_are_one_line(saved: str, tmp_path: Path) -> None:
    """No files, no journals, runs that do not belong together, places where nothing can be written."""
    (tmp_path / "bad.jsonl").write_text("x\n")
    other = Path(saved).read_text().replace('"run":"2', '"run":"1')
    (tmp_path / "more.jsonl").write_text(other)
    for arguments, message in (
        (["show", "nothing.jsonl"], "there is no journal 'nothing.jsonl'"),
        (["show", str(tmp_path / "bad.jsonl")], "line 1, is no line of a journal"),
        (["trace", saved, str(tmp_path / "more.jsonl"), "--out", "x"], "these files are of 2 runs"),
        (["trace", saved, "--out", str(tmp_path / "no" / "where")], "No such file or directory"),
    ):
        result = run(*arguments)
        assert result.exit_code == 1
        assert message in result.output
        assert "Traceback" not in result.output
