"""Lines of journals, each once."""

from collections.abc import Iterable
from typing import Any

from fakebroker.analysis.pipeline.tables.events import TABLE

Row = dict[str, Any]


def events(journal_lines: Iterable[Row]) -> list[Row]:
    """The table `events`: of the lines with the same (run, seq, part) the one that is first by file and line."""
    names = TABLE.column_names
    return [{name: row[name] for name in names} for row in first_of_each(journal_lines).values()]


def first_of_each(journal_lines: Iterable[Row]) -> dict[tuple[str, int, int], Row]:
    """The event of each (run, seq, part), in the order of these."""
    first: dict[tuple[str, int, int], Row] = {}
    for row in sorted((row for row in journal_lines if row["reject_reason"] is None), key=_place):
        first.setdefault(key_of(row), row)
    return dict(sorted(first.items()))


def key_of(row: Row) -> tuple[str, int, int]:
    """What identifies an event."""
    return row["run"], row["seq"], row["part"]


def _place(row: Row) -> tuple[str, int]:
    return row["file"], row["line"]
