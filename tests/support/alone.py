"""The tests that fail beside others and pass alone: tests/alone.txt, which `make alone` runs one after the other."""

from datetime import date
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).resolve().parent.parent / "alone.txt"


class Alone(NamedTuple):
    """A test, since when it runs alone, and why."""

    test: str
    since: date
    reason: str


def read(text: str) -> list[Alone]:
    """The lines of the file: test | date | reason; # begins a comment."""
    rows = [line.split(" | ", 2) for line in text.splitlines() if line and not line.startswith("#")]
    return [Alone(test, date.fromisoformat(since), reason) for test, since, reason in rows]


ALONE = read(FILE.read_text())
