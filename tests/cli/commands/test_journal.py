"""`fakebroker journal show|diff|trace|pcap|view FILES`."""

import json
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from fakebroker import FakeBroker
from fakebroker.cli.main import main


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
    """A misspelt one is an error that says the right one."""
    found = run("show", "--kind", "transitions", saved)
    assert (found.exit_code, "did you mean 'transition'" in found.output) == (2, True)


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
        (["show", "nothing.jsonl"], "no journal found at 'nothing.jsonl'"),
        (["show", str(tmp_path / "bad.jsonl")], "bad.jsonl:1: not JSON: "),
        (["trace", saved, str(tmp_path / "more.jsonl"), "--out", "x"], "these files belong to 2 runs"),
        (["trace", saved, "--out", str(tmp_path / "no" / "where")], "No such file or directory"),
    ):
        result = run(*arguments)
        assert result.exit_code == 2
        assert message in result.output
        assert "Traceback" not in result.output


def test_view_serves_the_page_until_it_is_stopped(saved: str) -> None:
    """Its address is printed; what the page asks is answered from the file, and nothing else is there."""
    command = [sys.executable, "-m", "fakebroker", "journal", "view", saved]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        url = process.stdout.readline().strip().removeprefix(f"{saved} on ")
        about = get(f"{url}about")
        assert (about["is_read_only"], about["source"]) == (True, saved)
        lines = get(f"{url}journal/brief?kind=request")["lines"]
        assert [line["api"] for line in lines] == ["ApiVersions", "JoinGroup", "JoinGroup"]
        assert get(f"{url}journal/entries/{lines[1]['seq']}")["errors"][0]["error"] == "MEMBER_ID_REQUIRED"
        assert {"apis", "kinds"} <= get(f"{url}names").keys()
        with urllib.request.urlopen(f"{url}live", timeout=30) as stream:
            assert b"event: hello" in stream.readline() + stream.readline()
            for path in ("clock", "reset", "journal/entries/1000"):
                with pytest.raises(urllib.error.HTTPError) as error:
                    get(f"{url}{path}")
                assert error.value.code == 404
                error.value.close()
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0


def test_view_of_what_is_no_journal(saved: str, tmp_path: Path) -> None:
    """And where no port can be had: a plain error."""
    (tmp_path / "no.jsonl").write_text("nothing\n\n")
    for arguments in ([str(tmp_path / "no.jsonl")], [str(tmp_path / "none")], [saved, "--listen", "x:y"]):
        found = run("view", *arguments)
        assert (found.exit_code, "Error: " in found.output) == (2, True), found.output


def get(url: str) -> Any:
    """The data of an answer."""
    with urllib.request.urlopen(url, timeout=30) as answer:
        return json.load(answer)
