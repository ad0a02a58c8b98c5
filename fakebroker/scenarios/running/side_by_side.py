"""Many plays: one after the other while that is faster, then in several processes. The outcomes keep their order."""

import gc
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
from itertools import islice
from multiprocessing import get_context
from time import perf_counter
from types import ModuleType
from typing import TypeVar

from fakebroker.platform.processes import can_fork, processors

T = TypeVar("T")
R = TypeVar("R")

# What it costs until the first outcome of other processes is here; less work than that is done here and now.
FORKED_S, SPAWNED_S = 0.15, 1.5
_CHUNK_S = 0.1  # about how long a process works on what it is handed at once
_MAX_IN_CHUNK = 64


def outcomes(
    work: Callable[[T], R], tasks: Sequence[T], processes: int | None = None, *, has_threads: bool = False
) -> Iterator[R]:
    """What `work` makes of each task, in their order. `work` and what it gives have to be picklable.

    `processes` is how many may work, the number of this process's processors unless given. A process that
    `has_threads` cannot be copied, and takes longer to have others. Whoever ends the iteration early ends the work.
    """
    can_copy = can_fork() and not has_threads
    start_s = FORKED_S if can_copy else SPAWNED_S
    most = len(processors()) if processes is None else processes
    if most < 2:
        yield from map(work, tasks)
        return
    began_s = perf_counter()
    for done, task in enumerate(tasks, 1):
        yield work(task)
        each_s = (perf_counter() - began_s) / done
        left = len(tasks) - done
        if each_s * left * (1 - 1 / most) > start_s:
            with _pool(min(most, left), "fork" if can_copy else "spawn") as pool:
                size = _chunk_size(left, min(most, left), each_s)
                with nullcontext() if can_copy else _without_main():
                    coming = pool.map(work, tasks[done:], chunksize=size)  # this starts the processes
                yield from islice(coming, left)
            return


def _chunk_size(tasks: int, processes: int, each_s: float) -> int:
    return max(1, min(_MAX_IN_CHUNK, int(_CHUNK_S / max(each_s, 1e-6)), tasks // (processes * 2)))


@contextmanager
def _pool(processes: int, method: str) -> Iterator[ProcessPoolExecutor]:
    """Processes that end with the block, however it ends."""
    pool = ProcessPoolExecutor(processes, get_context(method), initializer=_begin)
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _without_main() -> Iterator[None]:
    """Processes that begin in the block do not import the program that runs here.

    They need nothing of it, and a program without `if __name__ == "__main__"` would do all its work again in each.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _begin() -> None:
    """The first thing that a process does: Ctrl-C, which all processes of a terminal get, ends it at once, and mutely.

    What is there then, all modules, stays: its collector need not look at that again and again.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.freeze()
