"""Sessions for tests: recorded in front of a broker of ours, or made of lines."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fakebroker.cli.commands.replay import replay_file
from fakebroker.scenarios.recording.replay import Mismatch, Replayed
from fakebroker.scenarios.recording.survey import survey

DATA = Path(__file__).resolve().parents[2] / "data" / "sessions"
SESSIONS = sorted(DATA.glob("*.jsonl"))
TIMEOUT_S = 30


@contextmanager
def recorder(upstream: str, out: Path) -> Iterator[str]:
    """`fakebroker record` in front of a broker: the address for clients. What they did is in `out` afterwards."""
    command = [sys.executable, "-m", "fakebroker", "record", "--upstream", upstream, "--listen", "127.0.0.1:0"]
    with subprocess.Popen([*command, "--out", str(out)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        found = re.fullmatch(r"fakebroker recording on (\S+)\n", process.stdout.readline())
        assert found
        try:
            yield found[1]
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=TIMEOUT_S)


def replayed(path: Path) -> tuple[Replayed, list[Mismatch]]:
    """A session replayed in virtual time, and all differences."""
    mismatches: list[Mismatch] = []
    return replay_file(path, survey(path), mismatches.append), mismatches


def unexplained(path: Path) -> list[str]:
    """The differences that nothing explains."""
    result, mismatches = replayed(path)
    assert result.answers
    return [f"{each.line}: {each.title}: {each.text}" for each in mismatches if each.reason is None] + result.notes


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The lines of a session file."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def write_lines(path: Path, lines: list[dict[str, Any]]) -> Path:
    """A session file of these lines."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path
