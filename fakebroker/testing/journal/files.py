"""The journal on disk: JSON lines, written as NAME.jsonl.open and renamed to NAME.jsonl when they are full or old.

A file that has its name does not change any more, so whoever collects files may take it. The lines of a turn are
handed to the operating system in one write at the end of it: a broker that is killed loses at most the turn it was
in, and leaves at most one line torn, the last. What an earlier broker left open stays and is read like the others.
"""

import json
import logging
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, time

from fakebroker.broker.engine.journal import Event, Exchange, Recorded
from fakebroker.protocol.errors import InvalidArgument
from fakebroker.testing.journal.observed import Observer
from fakebroker.testing.journal.rows import Row, rows_of

MAX_BYTES = 64 * 1024 * 1024
MAX_AGE_S = 300.0
OPEN_SUFFIX = ".open"

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode

log = logging.getLogger("fakebroker")


def line_of(row: Row) -> bytes:
    """A line with its end."""
    return _encode(row).encode("utf-8", "backslashreplace") + b"\n"


def new_run() -> str:
    """A name for this broker's run: when it began, and something that no other has."""
    return f"{datetime.fromtimestamp(time(), UTC):%Y%m%dT%H%M%S}-{os.urandom(4).hex()}"


class JournalFile(Observer):
    """Writes the journal to files in a directory."""

    def __init__(
        self, directory: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES, max_age_s: float = MAX_AGE_S
    ) -> None:
        """A file is renamed and the next one begun when it has `max_bytes`, or is `max_age_s` seconds old.

        Raises InvalidArgument naming `journal_dir` if there can be no files in the directory, which is made if need be.
        """
        self.run = new_run()
        self._directory = Path(directory)
        self._most_bytes, self._most_age_s = max_bytes, max_age_s
        self._number = 0
        self._fd = -1
        self._path = self._directory
        self._bytes = 0
        self._began_s = 0.0
        self._has_failed = False
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            self._open()  # to see whether it can be done
            self._close()
            self._number = 0
        except OSError as error:
            message = f"no journal can be written to {str(directory)!r}: {error.strerror or error}"
            raise InvalidArgument("journal_dir", str(directory), message) from None

    def tell(self, entries: Sequence[Exchange | Recorded[Event]]) -> None:
        """Write the lines of a turn. If that fails, the log says so once, and the broker goes on without a journal."""
        if self._has_failed:
            return
        try:
            if entries:
                self._write(b"".join(line_of(row) for entry in entries for row in rows_of(entry, self.run)))
            self._rotate()
        except OSError as error:
            self._fail(error)

    def end(self) -> None:
        """Close the file and give it its name; the next line begins another."""
        if self._fd >= 0:
            try:
                self._close()
            except OSError as error:
                self._fail(error)

    def forget(self) -> None:
        """Close this process's copy of the file, which the parent goes on with."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd, self._has_failed = -1, True

    def _write(self, data: bytes) -> None:
        if self._fd < 0:
            self._open()
        view = memoryview(data)
        while view:
            written = os.write(self._fd, view)
            self._bytes += written
            view = view[written:]

    def _open(self) -> None:
        self._number += 1
        self._path = self._directory / f"{self.run}-{self._number:05}.jsonl{OPEN_SUFFIX}"
        self._fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._bytes, self._began_s = 0, monotonic()

    def _rotate(self) -> None:
        if self._fd < 0 or not self._bytes:
            return
        if self._bytes >= self._most_bytes or monotonic() - self._began_s >= self._most_age_s:
            self._close()

    def _close(self) -> None:
        """An empty file goes; any other gets its name."""
        fd, self._fd = self._fd, -1  # also if closing fails: the number may be another file's after that
        os.close(fd)
        if self._bytes:
            os.rename(self._path, self._path.with_suffix(""))
        else:
            os.unlink(self._path)

    def _fail(self, error: OSError) -> None:
        self._has_failed = True
        log.error("the journal ends here, %s cannot be written: %s", self._path, error.strerror or error)
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
