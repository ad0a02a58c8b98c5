"""Files of journals: which there are, their lines, and the events and rejects that they hold. Plain Python.

A folder stands for all journals in it and in its folders: finished files (`.jsonl`), those that a broker is writing or
left when it was killed (`.jsonl.open`), and compressed ones (`.jsonl.gz`). A file that is named itself may have any
name; what begins like gzip is read as gzip.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from fakebroker.analysis.history.packed import BAD_GZIP, unpacked
from fakebroker.analysis.pipeline.contract import Row
from fakebroker.analysis.pipeline.sources.journal_line import Line, parse_line, reject_row
from fakebroker.protocol.errors import InvalidArgument
from fakebroker.testing.journal.files import OPEN_SUFFIX

SUFFIXES: Final = (".jsonl", ".jsonl.gz", f".jsonl{OPEN_SUFFIX}")


def read_journals(paths: Sequence[str | os.PathLike[str]]) -> tuple[list[Row], list[Row]]:
    """Read journals; returns rows of the tables `events` and `rejects`, in the order of journals and of files.

    A line that comes again is in it once. Raises InvalidArgument naming the path where there is no file or folder.
    """
    from fakebroker.analysis.pipeline.duckdb_engine import DuckEngine  # which Spark's workers do not need
    from fakebroker.analysis.pipeline.engines import make
    from fakebroker.analysis.pipeline.tables import table

    engine = DuckEngine()
    lines = {"journal_lines": engine.frame(table("journal_lines"), journal_lines(journal_files(paths)))}
    events, rejects = (engine.rows(make(engine, name, lines)) for name in ("events", "journal_rejects"))
    events.sort(key=lambda row: (row["run"], row["seq"], row["part"]))
    rejects.sort(key=lambda row: (row["file"], row["position"], row["reason"]))
    return events, rejects


def journal_files(paths: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """The journals that the paths stand for, absolute, each once, in the order of their names.

    Raises InvalidArgument naming the path where there is no file or folder.
    """
    found: dict[Path, None] = {}
    for each in paths:
        path = Path(os.path.abspath(each))
        if path.is_dir():
            found.update((p, None) for p in path.rglob("*.jsonl*") if p.name.endswith(SUFFIXES) and p.is_file())
        elif path.is_file():
            found[path] = None
        else:
            raise InvalidArgument("path", str(each), f"no journal found at {str(each)!r}")
    return sorted(found)


def journal_sizes(paths: Iterable[str | os.PathLike[str]]) -> dict[str, int]:
    """How many bytes each of the journals has, those that are there. Raises as `journal_files`."""
    found = {}
    for file in journal_files(paths):
        with suppress(FileNotFoundError):
            found[str(file)] = file.stat().st_size
    return found


def journal_lines(files: Iterable[Path], *, is_growing: bool = False) -> Iterator[Row]:
    """The rows of the table `journal_lines` that these files hold, in their order.

    With `is_growing` files that a broker still writes give no rejects: those come when a file is finished.
    """
    for path in files:
        is_open = is_growing and path.name.endswith(OPEN_SUFFIX)
        try:
            with path.open("rb") as stream:
                rows = lines_of(str(path), stream)
                yield from (row for row in rows if not row["reject_reason"]) if is_open else rows
        except OSError as error:
            if not (is_growing and isinstance(error, FileNotFoundError)):  # it is finished: it has another name now
                yield unreadable(str(path), error)


def unreadable(file: str, error: OSError) -> Row:
    """The reject of a file that cannot be read."""
    return reject_row(file, 0, f"the file cannot be read: {error.strerror or error}")


def lines_of(file: str, stream: IO[bytes]) -> Iterator[Row]:
    """The rows of one file, which can be read from its start again; blank lines give none. Raises OSError."""
    number = 0
    try:
        for number, data in enumerate(unpacked(stream), 1):
            content = data.rstrip(b"\n")
            if content.strip():
                yield parse_line(Line(file, number, content, is_ended=len(content) < len(data)))
    except BAD_GZIP as error:
        yield reject_row(file, number + 1, f"the gzip data is damaged here: {error}")
