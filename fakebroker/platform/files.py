"""Opening of regular files; locks and writes of files that are open by their descriptor."""

import errno
import os
import stat
from contextlib import suppress
from typing import BinaryIO, Final, cast

OPEN_FLAGS: Final = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""For every `os.open`: child processes do not inherit the descriptor, and Windows changes no line ends."""

_NO_WAIT: Final = getattr(os, "O_NONBLOCK", 0)  # for the moment of opening; regular files know no other way

_NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)

_LOCKED_BYTE: Final = 0x7FFF_FFFE  # Windows locks bytes, also against reading: one beyond every content
_OF_NO_FILE: Final = (errno.ENXIO, errno.ENODEV)  # a FIFO that nothing reads, a socket, a device that is not there
_HELD: Final = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)  # systems differ


def open_regular(path: str | os.PathLike[str], flags: int) -> int:
    """`os.open` for a file that must be a regular one: a FIFO would wait for its writer, a device may have no end.

    Raises OSError with the file's name, also for anything else than a regular file.
    """
    try:
        fd = os.open(path, flags | OPEN_FLAGS | _NO_WAIT, 0o666)
    except OSError as error:
        raise _not_regular(path) if error.errno in _OF_NO_FILE else error from None
    try:
        _check_regular(path, os.fstat(fd))
    except OSError:
        os.close(fd)
        raise
    return fd


def regular_file(path: str | os.PathLike[str], mode: str) -> BinaryIO:
    """`open` in a binary mode for a file that must be a regular one. Raises OSError as `open_regular` does."""
    return cast("BinaryIO", open(path, mode, opener=open_regular))


def open_in_place(path: str | os.PathLike[str], flags: int) -> int:
    """`open_regular` for a file that is written to, and must not be a symbolic link, which leads elsewhere.

    Raises OSError as `open_regular` does, and as `refuse_link` does.
    """
    if not _NO_FOLLOW:
        refuse_link(path)
    try:
        return open_regular(path, flags | _NO_FOLLOW)
    except OSError:
        refuse_link(path)  # systems differ in the error that they have for it
        raise


def file_in_place(path: str | os.PathLike[str], mode: str) -> BinaryIO:
    """`open` in a binary mode for a file that is written to. Raises OSError as `open_in_place` does."""
    return cast("BinaryIO", open(path, mode, opener=open_in_place))


def refuse_link(path: str | os.PathLike[str]) -> None:
    """Raises OSError with its name for a symbolic link to a file or folder, or to nothing."""
    if os.path.islink(path):
        raise _is_link(path)


def names_in_place(folder: str | os.PathLike[str]) -> list[str]:
    """The names of what a folder has. Raises OSError, also if the folder or anything in it is a symbolic link."""
    refuse_link(folder)
    names = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_symlink():
                raise _is_link(entry.path)
            names.append(entry.name)
    return names


def _is_link(path: str | os.PathLike[str]) -> OSError:
    text = "it is a symbolic link, and nothing is written where it leads; put the file or folder itself in its place"
    return OSError(errno.ELOOP, text, str(path))


def regular_bytes(path: str | os.PathLike[str]) -> bytes:
    """The content of a file that must be a regular one. Raises OSError as `open_regular` does."""
    with regular_file(path, "rb") as file:
        return file.read()


def regular_status(path: str | os.PathLike[str]) -> os.stat_result:
    """`os.stat` for a file that must be a regular one, which is not opened. Raises OSError as `open_regular` does."""
    found = os.stat(path)
    _check_regular(path, found)
    return found


def _check_regular(path: str | os.PathLike[str], found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, "Is a directory", str(path))
    if not stat.S_ISREG(found.st_mode):
        raise _not_regular(path)


def _not_regular(path: str | os.PathLike[str]) -> OSError:
    return OSError(errno.EINVAL, "it is not a regular file", str(path))


def lock_for_process(fd: int, *, is_shared: bool = False) -> None:
    """Lock a file until this process closes it, or any other descriptor of it.

    Raises BlockingIOError if another process has locked it, OSError if that is impossible. Windows has no shared locks.
    """
    try:
        import fcntl
    except ImportError:
        _lock_byte(fd)
        return
    with _Held():
        fcntl.lockf(fd, (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)


def lock_for_descriptor(fd: int) -> None:
    """Lock a file until this descriptor is closed, against others of this process, too.

    Raises BlockingIOError if another one has locked it, OSError if that is impossible.
    """
    try:
        import fcntl
    except ImportError:
        _lock_byte(fd)
        return
    with _Held():
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _lock_byte(fd: int) -> None:
    import msvcrt

    position = os.lseek(fd, 0, os.SEEK_CUR)
    try:
        os.lseek(fd, _LOCKED_BYTE, os.SEEK_SET)
        with _Held():
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    finally:
        with suppress(OSError):
            os.lseek(fd, position, os.SEEK_SET)


class _Held:
    """Makes one error of the several that say that a lock is held."""

    def __enter__(self) -> None:
        """Nothing is to be prepared."""

    def __exit__(self, _type: object, error: BaseException | None, _traceback: object) -> None:
        """Raises BlockingIOError in place of another error with that meaning."""
        if isinstance(error, OSError) and error.errno in _HELD and not isinstance(error, BlockingIOError):
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from None


def write_at(fd: int, data: bytes | memoryview, position: int) -> int:
    """Write at a position. Returns the number of bytes written, which may be fewer than given. Raises OSError."""
    if hasattr(os, "pwrite"):
        return os.pwrite(fd, data, position)
    os.lseek(fd, position, os.SEEK_SET)
    return os.write(fd, data)


def flush_folder(path: str | os.PathLike[str]) -> None:
    """Have the disk store the names that a folder has. Windows has no call for it. Raises OSError."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | OPEN_FLAGS)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def is_own(found: os.stat_result) -> bool:
    """Whether a file belongs to the user of this process. Windows does not tell, and says yes."""
    return not hasattr(os, "getuid") or found.st_uid == os.getuid()
