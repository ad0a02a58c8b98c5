"""Writes lines in a thread of its own, so that output never blocks the broker; dropped lines are counted.

Writing to a full pipe blocks. In the event loop that would stop every client, because the reader of the log is slow. A
reader that has closed the pipe does not end the broker either.
"""

import logging
import os
import select
import threading
from collections import deque
from typing import Any, TextIO

from fakebroker.broker.engine.printable import LINE_CHARACTERS, printable

MAX_WAITING_BYTES = 1 << 20
FLUSH_TIMEOUT_S = 0.5  # how long the end of the process waits for a slow reader
PAUSE_S = 0.02
_CHUNK_BYTES = 1 << 18


class LineWriter:
    """Writes lines to a file descriptor in a thread of its own, in order. `put` may be called in any thread."""

    def __init__(self, stream: TextIO | None) -> None:
        """Write where `stream` does; None, as Python has it for a closed descriptor: nowhere."""
        self._fd = -1 if stream is None else stream.fileno()
        self._lines: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._lost = 0  # dropped lines since the last one that was queued
        self._is_idle = True  # nothing to write and nothing being written
        self._is_ending = False
        self._changed = threading.Condition()
        threading.Thread(target=self._write_for_ever, name="fakebroker-lines", daemon=True).start()

    def put(self, line: str) -> None:
        """Queue a line; if MAX_WAITING_BYTES are queued already, drop it and count it as lost."""
        data = line.encode("utf-8", "backslashreplace") + b"\n"
        with self._changed:
            if self._waiting_bytes + len(data) > MAX_WAITING_BYTES:
                self._lost += 1
                return
            if self._lost:
                self._add(f"{self._lost} lines lost: the reader was too slow\n".encode())
                self._lost = 0
            self._add(data)
            if self._is_idle:
                self._is_idle = False
                self._changed.notify_all()

    def flush(self, timeout_s: float = FLUSH_TIMEOUT_S) -> None:
        """Wait until all is written, but not longer than `timeout_s`: the reader may not read any more."""
        with self._changed:
            self._is_ending = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._is_idle, timeout_s)
            self._is_ending = False

    def _add(self, data: bytes) -> None:
        self._lines.append(data)
        self._waiting_bytes += len(data)

    def _write_for_ever(self) -> None:
        """Write the first line at once, then a chunk each PAUSE_S: every switch of threads delays the event loop."""
        while True:
            with self._changed:
                if not self._lines:
                    self._is_idle = True
                    self._changed.notify_all()
                    self._changed.wait_for(lambda: self._lines)
                chunk = self._take()
            self._write(chunk)
            with self._changed:
                self._changed.wait_for(lambda: self._is_ending, PAUSE_S)

    def _take(self) -> bytes:
        """Dequeue up to _CHUNK_BYTES of lines; not more, because dequeued lines are lost if the process ends now."""
        taken, size_bytes = [], 0
        while self._lines and size_bytes < _CHUNK_BYTES:
            taken.append(self._lines.popleft())
            size_bytes += len(taken[-1])
        self._waiting_bytes -= size_bytes
        return b"".join(taken)

    def _write(self, data: bytes) -> None:
        while data and self._fd >= 0:
            try:
                data = data[os.write(self._fd, data) :]
            except BlockingIOError:  # another process with the same pipe made it non-blocking
                select.select([], [self._fd], [])
            except OSError:  # the reader is gone, or the disk is full: these lines are lost
                return


class LineHandler(logging.Handler):
    """Log records as lines of a LineWriter."""

    def __init__(self, writer: LineWriter) -> None:
        super().__init__()
        self.setFormatter(_OneLine("%(asctime)s %(levelname)s %(message)s"))
        self._writer = writer

    def emit(self, record: logging.LogRecord) -> None:
        """Queue the record's line."""
        try:
            self._writer.put(self.format(record))
        except Exception:
            self.handleError(record)

    def flush(self) -> None:
        """Wait a moment for the reader; called when the process ends."""
        self._writer.flush()


class _OneLine(logging.Formatter):
    """A record on one line, whatever is in it; a traceback follows on indented lines, which look like no record."""

    def format(self, record: logging.LogRecord) -> str:
        """The text of a record, its message escaped and cut."""
        record.msg, record.args = printable(record.getMessage(), LINE_CHARACTERS), None
        return super().format(record)

    def formatException(self, ei: Any) -> str:  # noqa: N802 (the name is of logging)
        """The traceback; texts of exceptions may repeat what a client sent."""
        return "\n".join("  " + printable(line, LINE_CHARACTERS) for line in super().formatException(ei).split("\n"))
