"""Reading journals back: files, or a directory of them."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from fakebroker.protocol.errors import InvalidArgument
from fakebroker.testing.exchanges.columns import Row
from fakebroker.testing.exchanges.reading import checked, read_lines
from fakebroker.testing.journal.files import OPEN_SUFFIX
from fakebroker.testing.journal.schema import JOURNAL


class SavedJournal(NamedTuple):
    """The lines of a journal as objects, in order; `torn` counts incomplete last lines of files."""

    rows: list[Row]
    torn: int = 0

    def of_kind(self, kind: str) -> list[Row]:
        """The lines of one kind."""
        return [row for row in self.rows if row["kind"] == kind]


def load(*paths: str | os.PathLike[str]) -> SavedJournal:
    """Read journal files; of a directory all of them, the unfinished too. Lines are put in the order of their runs.

    A last line that is torn is left out and counted. Raises InvalidArgument for a path where no file is, and
    UnreadableFile, which names file and line, for any other line that is no line of a journal.
    """
    rows: list[Row] = []
    cut: list[str] = []
    for path in _files(paths):
        rows += [row for _, row in checked(path, read_lines(path, cut.append), JOURNAL)]
    first_seen: dict[str, int] = {}
    for row in rows:
        first_seen.setdefault(row["run"], len(first_seen))
    rows.sort(key=lambda row: (first_seen[row["run"]], row["seq"], row["part"]))
    return SavedJournal(rows, len(cut))


def _files(paths: Iterable[str | os.PathLike[str]]) -> Iterator[Path]:
    for each in paths:
        path = Path(each)
        if path.is_dir():
            yield from sorted(p for p in path.iterdir() if p.name.endswith((".jsonl", ".jsonl" + OPEN_SUFFIX)))
        elif path.is_file():
            yield path
        else:
            raise InvalidArgument("path", str(each), f"no journal found at {str(each)!r}")
