"""The writer of files of lines."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from fakebroker.platform.files import OPEN_FLAGS
from fakebroker.protocol.errors import InvalidArgument

encode_value = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode
"""A value as it stands in a line."""


def line_of(row: Mapping[str, Any]) -> bytes:
    """A line with its end."""
    return encode_value(row).encode("utf-8", "backslashreplace") + b"\n"


def new_file(path: str | os.PathLike[str], *, force: bool = False) -> "LineFile":
    """The file of an option --out; only its owner can read it.

    Raises InvalidArgument if it exists and `force` is not set, or if it cannot be made.
    """
    try:
        return LineFile(path, force=force)
    except FileExistsError:
        raise InvalidArgument("out", str(path), f"{path} exists; --force overwrites it") from None
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror or error}"
        raise InvalidArgument("out", str(path), message) from None


class LineFile:
    """A file to which lines are written, one by one or many at once.

    A line is in the hands of the operating system when `write` returns: a writer that is killed loses nothing that it
    has written, and leaves at most one line torn, the last.
    """

    def __init__(self, path: str | os.PathLike[str], *, force: bool = False, mode: int = 0o600) -> None:
        """Make the file, or empty it if it exists and `force` is set. Raises OSError if that cannot be done."""
        self.path = os.fspath(path)
        self.error: str | None = None  # why nothing more is written
        self.written_bytes = 0
        flags = os.O_WRONLY | os.O_CREAT | OPEN_FLAGS | os.O_APPEND | (os.O_TRUNC if force else os.O_EXCL)
        self._fd = os.open(self.path, flags, mode)

    def write(self, *lines: Mapping[str, Any]) -> None:
        """Write lines at once.

        If that fails, `error` says why, the file ends with what was written before, and nothing more is written.
        """
        self.write_encoded(b"".join(map(line_of, lines)))

    def write_encoded(self, lines: bytes) -> None:
        """As `write`, for lines that are bytes already, each with its end."""
        if self._fd >= 0:
            self._put((lines,))

    def write_long(self, line: Mapping[str, Any], frame: bytes | memoryview) -> None:
        """Write a line with the bytes of a long frame as `hex`, its last field, without making one text of them."""
        if self._fd < 0:
            return
        head = line_of(line)[:-2]
        view = memoryview(frame)
        step = 1 << 20
        hexadecimal = (view[at : at + step].hex().encode() for at in range(0, len(view), step))
        self._put((head, b',"is_long":true,"hex":"'), hexadecimal, (b'"}\n',))

    def close(self) -> None:
        """Close the file; whatever is written after that is ignored."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            try:
                os.close(fd)
            except OSError as error:
                self.error = self.error or self._why(error)

    def discard(self) -> None:
        """Remove the file: there is nothing in it."""
        self.close()
        with suppress(OSError):
            os.unlink(self.path)

    def _put(self, *parts: "tuple[bytes, ...] | Iterator[bytes]") -> None:
        start = self.written_bytes
        try:
            for part in parts:
                for data in part:
                    self._write_all(data)
        except OSError as error:
            self.error = self._why(error)
            self._cut_off(start)

    def _write_all(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            written = os.write(self._fd, view)
            self.written_bytes += written
            view = view[written:]

    def _cut_off(self, at: int) -> None:
        """End the file with its last whole line."""
        with suppress(OSError):  # a pipe cannot be cut off; a torn line is for the reader to tell
            os.ftruncate(self._fd, at)
        self.close()

    def _why(self, error: OSError) -> str:
        return f"{self.path} cannot be written: {error.strerror or error}"
