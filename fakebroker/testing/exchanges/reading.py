"""The reader of files of lines: each line is a JSON object. It holds one line at a time.

What is wrong with a file is an `UnreadableFile` that names file and line.
"""

import logging
import os
import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from fakebroker.protocol.errors import FakebrokerError, InvalidArgument
from fakebroker.protocol.json_text import parse_json
from fakebroker.testing.exchanges.columns import Form, Row, problems
from fakebroker.testing.exchanges.kinds import SESSION

MAX_LINE_BYTES = 1 << 30  # a frame of 256 MiB as hexadecimal, with room

Numbered = Iterator[tuple[int, Row]]
OnCut = Callable[[str], object] | None
log = logging.getLogger("fakebroker")


class UnreadableFile(InvalidArgument):
    """A file that cannot be read: the message says file, line and what is wrong there."""

    def __init__(self, path: str | os.PathLike[str], number: int | None, problem: str) -> None:
        """`number` is that of the line, None if the whole file cannot be read."""
        self.number = number
        self.problem = problem
        name = os.fspath(path)
        super().__init__("path", name, f"{name}: {problem}" if number is None else f"{name}:{number}: {problem}")


def read_session(path: str | os.PathLike[str], on_cut: OnCut = log.warning) -> Numbered:
    """The lines of a session file, each with its number. Arguments and errors as for `read_lines` and `checked`."""
    return checked(path, read_lines(path, on_cut), SESSION)


def read_lines(path: str | os.PathLike[str], on_cut: OnCut = log.warning) -> Numbered:
    """The objects of a file, each with the number of its line; blank lines are passed over.

    A last line that was cut off (the writer was killed, the disk was full) is left out, and `on_cut` is called with a
    sentence about it; without `on_cut` it is an error. Raises UnreadableFile for any other line that is not a JSON
    object, and for a file that cannot be read.
    """
    name = os.fspath(path)
    try:
        with Path(path).open("rb") as file:
            yield from _lines(name, file, on_cut)
    except OSError as error:
        raise UnreadableFile(name, None, f"it cannot be read: {error.strerror or error}") from None


def _lines(name: str, file: BufferedReader, on_cut: OnCut) -> Numbered:
    number = 0
    while raw := file.readline(MAX_LINE_BYTES + 1 if number else _most_of_first(file)):
        number += 1
        is_last = not raw.endswith(b"\n")
        if len(raw) > MAX_LINE_BYTES:
            raise UnreadableFile(name, number, f"a line of more than {MAX_LINE_BYTES} bytes")
        if raw.isspace():
            continue
        try:
            row = parse_json(raw)
        except ValueError as error:
            if not is_last or raw[:1] != b"{":
                raise UnreadableFile(name, number, f"not JSON: {error}") from None
            cut = f"the last line was cut off after {len(raw)} bytes"
            if on_cut is None:
                raise UnreadableFile(name, number, cut) from None
            on_cut(f"{name}:{number}: {cut}; what came before is used")
            return
        if not isinstance(row, dict):
            raise UnreadableFile(name, number, f"a line is a JSON object, not {type(row).__name__}")
        yield number, row
        if is_last:
            return  # a file that is being written may go on here: the end of this line, and more


def _most_of_first(file: BufferedReader) -> int:
    """How much of the first line to read: of a file that does not begin as JSON, which may have no lines, a little."""
    return MAX_LINE_BYTES + 1 if file.peek(1)[:1] == b"{" else 100


def checked(path: str | os.PathLike[str], lines: Iterable[tuple[int, Row]], form: Form) -> Numbered:
    """The same lines if they are those of a file of that form.

    Raises UnreadableFile for a line that has not the columns of its kind, for a head that is missing or comes again,
    and for a line that names another version of the format.
    """
    is_first = True
    for number, row in lines:
        wrong = _wrong_head(row, is_first, form) or _wrong_version(row, form) or next(problems(row, form), None)
        if wrong:
            raise UnreadableFile(path, number, wrong)
        is_first = False
        yield number, row
    if is_first and form.head:
        why = f"the file is empty; {form.name} begins with a line of the kind {form.head}"
        raise UnreadableFile(path, 1, why)


def _wrong_head(row: Row, is_first: bool, form: Form) -> str | None:
    """What is wrong with the place of a line, in files that have a head."""
    if form.head is None:
        return None
    is_head = row.get("kind") == form.head
    if is_first and not is_head:
        return f"{form.name} begins with a line of the kind {form.head}"
    if is_head and not is_first:
        return f"a second line of the kind {form.head}"
    return None


def _wrong_version(row: Row, form: Form) -> str | None:
    """What is wrong with the version that a line names: a head, or any line where the file has none."""
    names_version = form.head is None or row.get("kind") == form.head
    if not names_version or row.get("schema_version", form.version) == form.version:
        return None
    by = f", written by fakebroker {row['fakebroker']}" if "fakebroker" in row else ""
    return f"schema_version is {row['schema_version']!r:.20}{by}; this fakebroker reads {form.version}"


@contextmanager
def naming_line(path: str | os.PathLike[str], number: int) -> Iterator[None]:
    """Errors in the content of a line, which may have been edited, become an UnreadableFile that names the line."""
    try:
        yield
    except UnreadableFile:
        raise
    except (FakebrokerError, LookupError, TypeError, ValueError, AttributeError, struct.error) as error:
        raise UnreadableFile(path, number, f"the line has invalid content: {error!r:.200}") from error
