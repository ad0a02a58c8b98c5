"""Files of journals: which there are, their lines, and the events and rejects that they hold. Plain Python.

A folder stands for all journals in it and in its folders: finished files (`.jsonl`), those that a broker is writing or
left when it was killed (`.jsonl.open`), and compressed ones (`.jsonl.gz`). A file that is named itself may have any
name; what begins like gzip is read as gzip.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final, NamedTuple

from fakebroker.analysis.history.packed import BAD_GZIP, GZIP_MAGIC, unpacked
from fakebroker.analysis.pipeline.contract import Row
from fakebroker.analysis.pipeline.sources.journal_line import Line, parse_line, reject_row
from fakebroker.protocol.errors import InvalidArgument
from fakebroker.testing.journal.files import OPEN_SUFFIX

SUFFIXES: Final = (".jsonl", ".jsonl.gz", f".jsonl{OPEN_SUFFIX}")


SPAN_BYTES: Final = 32 * 1024 * 1024
_READ_BYTES: Final = 1024 * 1024


class Span(NamedTuple):
    """Some lines of a file, all of them unless more is said: between two bytes, the first with its number."""

    path: Path
    start: int = 0
    end: int | None = None
    first_line: int = 1
    size_bytes: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether it is all of the file."""
        return not self.start and self.end is None


def read_journals(paths: Sequence[str | os.PathLike[str]]) -> tuple[list[Row], list[Row]]:
    """Read journals; returns rows of the tables `events` and `rejects`, in the order of journals and of files.

    A line that comes again is in it once. Raises InvalidArgument naming the path where there is no file or folder.
    """
    from fakebroker.analysis.pipeline.duckdb_engine import DuckEngine  # which Spark's workers do not need
    from fakebroker.analysis.pipeline.engines import make
    from fakebroker.analysis.pipeline.tables import table

    engine = DuckEngine()
    lines = {"journal_lines": engine.frame(table("journal_lines"), journal_lines(map(Span, journal_files(paths))))}
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


def spans_of(path: Path, span_bytes: int = SPAN_BYTES) -> list[Span]:
    """A file cut between lines, into spans of about so many bytes; one that is packed or cannot be read is one span."""
    try:
        with path.open("rb") as stream:
            is_packed = stream.read(len(GZIP_MAGIC)) == GZIP_MAGIC
            size_bytes = stream.seek(0, os.SEEK_END)
            if is_packed or size_bytes <= span_bytes:
                return [Span(path, size_bytes=size_bytes)]
            stream.seek(0)
            return list(_spans(path, stream, span_bytes))
    except OSError:
        return [Span(path)]


def _spans(path: Path, stream: IO[bytes], span_bytes: int) -> Iterator[Span]:
    """The last span has no end: who reads it may find more than there was."""
    start = at = 0
    first_line = number = 1
    while data := stream.read(_READ_BYTES):
        number += data.count(b"\n")
        at += len(data)
        cut = data.rfind(b"\n") + 1
        if cut and at - start >= span_bytes:
            end = at - len(data) + cut
            yield Span(path, start, end, first_line, end - start)
            start, first_line = end, number
    yield Span(path, start, None, first_line, at - start)


def journal_lines(spans: Iterable[Span], *, is_growing: bool = False) -> Iterator[Row]:
    """The rows of the table `journal_lines` that these spans of files hold, in their order, without null columns.

    With `is_growing` files that a broker still writes give no rejects: those come when a file is finished.
    """
    for span in spans:
        path = span.path
        is_open = is_growing and path.name.endswith(OPEN_SUFFIX)
        try:
            with path.open("rb") as stream:
                rows = lines_of(str(path), stream, span)
                yield from (row for row in rows if "reject_reason" not in row) if is_open else rows
        except OSError as error:
            if not (is_growing and isinstance(error, FileNotFoundError)):  # it is finished: it has another name now
                yield unreadable(str(path), error)


def unreadable(file: str, error: OSError) -> Row:
    """The reject of a file that cannot be read."""
    return reject_row(file, 0, f"the file cannot be read: {error.strerror or error}")


def lines_of(file: str, stream: IO[bytes], span: Span | None = None) -> Iterator[Row]:
    """The rows of one file, or of a span of it; blank lines give none. Raises OSError.

    The stream can be read from its start again.
    """
    number, first = 0, 1 if span is None else span.first_line
    lines = unpacked(stream) if span is None or span.is_whole else _cut(stream, span)
    try:
        for number, data in enumerate(lines, first):
            content = data.rstrip(b"\n")
            if content.strip():
                yield parse_line(Line(file, number, content, is_ended=len(content) < len(data)))
    except BAD_GZIP as error:
        yield reject_row(file, number + 1, f"the gzip data is damaged here: {error}")


def _cut(stream: IO[bytes], span: Span) -> Iterator[bytes]:
    """The lines of a span."""
    stream.seek(span.start)
    left = None if span.end is None else span.end - span.start
    for line in stream:
        yield line
        if left is not None:
            left -= len(line)
            if left <= 0:
                return
