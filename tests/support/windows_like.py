"""A process that lacks what Windows lacks: a simulation, for there is no Windows here.

`hide` must run before asyncio and fakebroker are imported, so it is for processes of their own: see `windows_like`.
It takes away epoll and poll, modules such as fcntl and resource, signal handlers of loops, and functions of `os`.
Signals do not interrupt `select`, file names have no colon, and a module msvcrt locks files.
"""

import errno
import os
import sys
from types import ModuleType

HIDDEN_MODULES = ("fcntl", "resource", "termios", "tty", "pty", "pwd", "grp")
HIDDEN_FUNCTIONS = (
    *("pwrite", "pread", "O_CLOEXEC", "O_NOFOLLOW"),
    *("sched_getaffinity", "register_at_fork", "getuid", "killpg", "fork"),
)


def windows_like(code: str, *arguments: str) -> list[str]:
    """The command of a Python that runs code in such a process."""
    return [sys.executable, "-c", f"from tests.support.windows_like import hide; hide()\n{code}", *arguments]


def hide() -> None:
    """Take away what Windows does not have."""
    import select

    for name in ("epoll", "poll"):
        delattr(select, name)
    import asyncio
    import subprocess  # both import some of the modules themselves  # noqa: F401

    sys.modules["msvcrt"] = _msvcrt()
    for name in HIDDEN_MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    for name in HIDDEN_FUNCTIONS:
        delattr(os, name)
    asyncio.SelectorEventLoop.add_signal_handler = _refuse  # type: ignore[method-assign, assignment]
    _take_signals_in_a_thread()
    sys.addaudithook(_check_names)
    from fakebroker.platform import sockets

    sockets.CAN_GATHER = False  # type: ignore[misc]


def _take_signals_in_a_thread() -> None:
    """Signals interrupt no system call of the main thread, which runs their handlers when it is next at work."""
    import signal
    import threading

    threading.Thread(target=threading.Event().wait, daemon=True).start()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})


def _check_names(event: str, arguments: tuple[object, ...]) -> None:
    """Raises OSError for a file that is made with a name that Windows refuses."""
    if event in ("open", "os.mkdir", "os.rename"):
        for path in arguments[:2]:
            if isinstance(path, str) and set(os.path.basename(path)) & set('<>:"|?*'):
                raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)


def _refuse(*_arguments: object) -> None:
    raise NotImplementedError


def _msvcrt() -> ModuleType:
    """Locks of a byte, as Windows' C library has them: a held one is PermissionError."""
    import fcntl

    def locking(fd: int, mode: int, size_bytes: int) -> None:
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, size_bytes, os.lseek(fd, 0, os.SEEK_CUR))
        except BlockingIOError as error:
            raise PermissionError(13, "Permission denied") from error

    made = ModuleType("msvcrt")
    made.LK_NBLCK = 2  # type: ignore[attr-defined]
    made.locking = locking  # type: ignore[attr-defined]
    return made
