"""Writing to files: all of it goes through here."""

import os
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

from fakebroker.platform.files import file_in_place, open_in_place, open_regular, write_at

OPEN_FILES = 256  # of segments that are written to, at once; the one that was used longest ago is closed


class Disk:
    """The files of one data directory that are open for writing, and how they are written.

    Each OSError names the file. None is written through a symbolic link: the directory may be from somebody else.
    """

    def __init__(self) -> None:
        self._open: OrderedDict[Path, int] = OrderedDict()

    def append(self, path: Path, size_bytes: int, data: bytes) -> None:
        """Write `data` after the first `size_bytes` of a file, which is made if needed; it is not flushed to disk.

        What an earlier write that failed has left after them is overwritten or cut off. Raises OSError.
        """
        fd = self._fd(path)
        written = 0
        try:
            while written < len(data):
                written += write_at(fd, data[written:] if written else data, size_bytes + written)
        except OSError as error:
            raise _named(error, path) from None

    def cut(self, path: Path, size_bytes: int) -> None:
        """Let a file end after its first `size_bytes`. Raises OSError."""
        _do(path, os.ftruncate, self._fd(path), size_bytes)

    def flush(self, path: Path) -> None:
        """Call fsync for a file: the disk stores what was written to it. Raises OSError."""
        _do(path, os.fsync, self._fd(path))

    @staticmethod
    def flush_closed(path: Path) -> None:
        """Call fsync for a file that is not written to any more, from any thread; a file that was removed is skipped.

        Raises OSError.
        """
        try:
            fd = open_regular(path, os.O_RDONLY)
        except FileNotFoundError:
            return
        try:
            _do(path, os.fsync, fd)
        finally:
            os.close(fd)

    def write(self, path: Path, content: bytes) -> None:
        """Make a file of this content, which is not flushed to disk. Raises OSError."""
        _do(path, _write, path, content)

    def replace(self, path: Path, content: bytes) -> None:
        """Give a file this content, all of it or nothing. Raises OSError."""
        unfinished = path.with_name(f"{path.name}.tmp")
        _do(path, _write, unfinished, content)
        unfinished.replace(path)

    def release(self, path: Path) -> None:
        """Close a file that is to be removed or renamed; nothing happens if it is not open."""
        fd = self._open.pop(path, None)
        if fd is not None:
            os.close(fd)

    def close(self) -> None:
        """Close all files."""
        while self._open:
            os.close(self._open.popitem()[1])

    def _fd(self, path: Path) -> int:
        fd = self._open.get(path)
        if fd is None:
            fd = self._open[path] = open_in_place(path, os.O_WRONLY | os.O_CREAT)
            if len(self._open) > OPEN_FILES:
                os.close(self._open.popitem(last=False)[1])
        else:
            self._open.move_to_end(path)
        return fd


def _do(path: Path, action: Callable[..., object], *arguments: object) -> None:
    """Do something to a file. Raises OSError."""
    try:
        action(*arguments)
    except OSError as error:
        raise _named(error, path) from None


def _write(path: Path, content: bytes) -> None:
    with file_in_place(path, "wb") as file:
        file.write(content)


def _named(error: OSError, path: Path) -> OSError:
    """The same error with the file's name, which calls with a descriptor do not know."""
    return error if error.filename is not None else OSError(error.errno, error.strerror, str(path))


def cause(error: OSError) -> str:
    """The text of an error, with the name of the file if it has one."""
    text = error.strerror or str(error)
    return text if error.filename is None else f"{error.filename}: {text}"
