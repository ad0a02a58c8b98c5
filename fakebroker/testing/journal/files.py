"""The journal on disk: JSON lines, written as NAME.jsonl.open and renamed to NAME.jsonl when they are full or old.

A file that has its name does not change any more, so whoever collects files may take it. The lines of a turn are
handed to the operating system at the end of it, in one write unless they are long (observed.py): a broker that is
killed loses at most the turn it was in and long ones before it, and leaves at most one line torn, the last. What an
earlier broker left open stays and is read like the others.
"""

import logging
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, time

from fakebroker.broker.engine.journal import BrokerStarted, Event, Exchange, InternalError, Recorded
from fakebroker.protocol.errors import InvalidArgument
from fakebroker.testing.exchanges.writing import LineFile, line_of
from fakebroker.testing.journal.observed import Observer
from fakebroker.testing.journal.repeated_lines import RepeatedLines
from fakebroker.testing.journal.rows import rows_of

MAX_BYTES = 64 * 1024 * 1024
MAX_AGE_S = 300.0
OPEN_SUFFIX = ".open"

log = logging.getLogger("fakebroker")


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
        self._repeated = RepeatedLines(self.run)
        self._directory = Path(directory)
        self._most_bytes, self._most_age_s = max_bytes, max_age_s
        self._number = 0
        self._file: LineFile | None = None
        self._began_s = 0.0
        self._has_failed = False
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            self._close(self._open())  # to see whether it can be done
            self._number = 0
        except OSError as error:
            message = f"cannot write a journal to {str(directory)!r}: {error.strerror or error}"
            raise InvalidArgument("journal_dir", str(directory), message) from None

    def tell(self, entries: Sequence[Exchange | Recorded[Event]]) -> None:
        """Write the lines of a turn. If that fails, the log says so once, and the broker goes on without a journal."""
        if self._has_failed:
            return
        try:
            if entries:
                self._file = self._file or self._open()
                self._file.write_encoded(b"".join(map(self._lines_of, entries)))
            if self._file is not None and self._is_over(self._file):
                self.end()
        except OSError as error:
            self._fail(f"no file can be made in {self._directory}: {error.strerror or error}")

    def _lines_of(self, entry: Exchange | Recorded[Event]) -> bytes:
        """The lines of an entry; of one for which none can be made, which is a bug, a line that says so."""
        try:
            return self._made_lines_of(entry)
        except Exception as error:
            log.exception("entry %d of the journal has no line of its own", entry.seq)
            at = entry.answered if isinstance(entry, Exchange) else entry.at
            instead = Recorded(entry.seq, at, InternalError(type(error).__name__, "an entry that cannot be written"))
            return b"".join(map(line_of, rows_of(instead, self.run)))

    def _made_lines_of(self, entry: Exchange | Recorded[Event]) -> bytes:
        if not isinstance(entry, Exchange):
            if isinstance(entry.event, BrokerStarted):
                self._repeated.clear()
            return b"".join(map(line_of, rows_of(entry, self.run)))
        return self._repeated.line_of(entry) or self._repeated.lines_and_learn(entry)

    def end(self) -> None:
        """Close the file and give it its name; the next line begins another."""
        file, self._file = self._file, None
        try:
            if file is not None:
                self._close(file)
        except OSError as error:
            self._fail(f"{file and file.path} cannot be renamed: {error.strerror or error}")

    def forget(self) -> None:
        """Close this process's copy of the file, which the parent goes on with."""
        if self._file is not None:
            self._file.close()
        self._file, self._has_failed = None, True

    def _open(self) -> LineFile:
        self._number += 1
        self._began_s = monotonic()
        return LineFile(self._directory / f"{self.run}-{self._number:05}.jsonl{OPEN_SUFFIX}", mode=0o644)

    def _is_over(self, file: LineFile) -> bool:
        is_old = bool(file.written_bytes) and monotonic() - self._began_s >= self._most_age_s
        return file.error is not None or file.written_bytes >= self._most_bytes or is_old

    def _close(self, file: LineFile) -> None:
        """An empty file goes; any other gets its name, unless it could not be written."""
        file.close()
        if file.error is not None:
            self._fail(file.error)
        elif file.written_bytes:
            os.rename(file.path, file.path.removesuffix(OPEN_SUFFIX))
        else:
            os.unlink(file.path)

    def _fail(self, why: str) -> None:
        self._has_failed = True
        log.error("the journal ends here: %s", why)
