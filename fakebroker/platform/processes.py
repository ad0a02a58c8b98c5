"""Limits, processors, priorities and groups of processes."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress


def raise_descriptor_limit() -> None:
    """Have as many file descriptors as the system allows: each client takes one. The usual 1,024 are for `select`."""
    try:
        import resource
    except ImportError:  # Windows, which has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and soft < hard:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def can_fork() -> bool:
    """Whether other processes may begin as copies of this one, with all modules loaded: safe without other threads."""
    return sys.platform == "linux"


def processors() -> Sequence[int]:
    """The numbers of the processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return range(os.cpu_count() or 1)


def give_lowest_priority(thread_id: int) -> None:
    """Let a thread run where no other wants to. Only on Linux do threads have priorities that are not the process's."""
    if sys.platform == "linux":
        with suppress(OSError):  # it has ended, or a sandbox forbids it
            os.setpriority(os.PRIO_PROCESS, thread_id, 19)


def end_group(process: "subprocess.Popen[bytes]", *, by_force: bool) -> None:
    """Ask a process that was started with `start_new_session` to end, and those that it started; or end them by force.

    Windows has no such groups, and ends the process alone, always by force.
    """
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL if by_force else signal.SIGTERM)
        else:
            process.kill()


def after_fork_in_child(action: Callable[[], None]) -> None:
    """Have every copy of this process call `action` first. Windows makes no copies."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=action)
