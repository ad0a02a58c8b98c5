"""One writer at a time: who makes tables for a folder holds a lock beside it, so that nobody's rows are lost.

The lock is the system's (`flock`), so it ends with the process that holds it, however that ends.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fakebroker.platform.files import OPEN_FLAGS, lock_for_descriptor
from fakebroker.protocol.errors import FakebrokerError, Unavailable


class IsWritten(Unavailable):
    """Another process makes tables for the folder."""


@contextmanager
def write_lock(target: Path) -> Iterator[None]:
    """Hold the lock of `target`, an absolute path that need not be there, during the block.

    Raises IsWritten if another process holds it, FakebrokerError if the folder around it cannot be written.
    """
    path = target.parent / f".{target.name}.lock"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = _locked(path)
    except BlockingIOError:
        raise IsWritten(f"another command is writing to {target}{_by(path)}; try again when it is done") from None
    except OSError as error:
        raise FakebrokerError(f"cannot write to {target.parent}: {error.strerror or error}") from None
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(file)


def _locked(path: Path) -> int:
    """The lock's file, opened and locked. Raises BlockingIOError if another process has it."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | OPEN_FLAGS, 0o666)
        try:
            lock_for_descriptor(file)
            # Who had the lock may have deleted its file between our two calls: then another one can be made and locked.
            if _is_at(file, path):
                os.truncate(file, 0)
                os.write(file, str(os.getpid()).encode())
                return file
        except OSError:
            os.close(file)
            raise
        os.close(file)


def _is_at(file: int, path: Path) -> bool:
    """Whether the open file is the one that has this name now."""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False


def _by(path: Path) -> str:
    """Which process holds the lock, in words; nothing if that is not known."""
    try:
        return f" (process {int(path.read_text('utf-8'))})"
    except (OSError, ValueError):
        return ""
