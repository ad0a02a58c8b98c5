"""Many plays: one after the other while that is faster, then in several processes. The outcomes keep their order."""

import gc
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from itertools import islice
from multiprocessing import get_context
from time import perf_counter
from typing import TypeVar

from fakebroker.platform.processes import can_fork, processors

T = TypeVar("T")
R = TypeVar("R")

# What it costs until the first outcome of other processes is here; less work than that is done here and now.
FORKED_S, SPAWNED_S = 0.15, 1.5
_CHUNK_S = 0.1  # about how long a process works on what it is handed at once
_MAX_IN_CHUNK = 64


def outcomes(work: Callable[[T], R], tasks: Sequence[T], processes: int | None = None) -> Iterator[R]:
    """What `work` makes of each task, in their order. `work` and what it gives have to be picklable.

    `processes` is how many may work, the number of this process's processors unless given. Whoever ends the iteration
    early ends the work.
    """
    most = len(processors()) if processes is None else processes
    if most < 2:
        yield from map(work, tasks)
        return
    began_s = perf_counter()
    for done, task in enumerate(tasks, 1):
        yield work(task)
        each_s = (perf_counter() - began_s) / done
        left = len(tasks) - done
        if each_s * left * (1 - 1 / most) > _start_s():
            yield from _in_processes(work, tasks[done:], min(most, left), each_s)
            return


def _in_processes(work: Callable[[T], R], tasks: Sequence[T], processes: int, each_s: float) -> Iterator[R]:
    size = max(1, min(_MAX_IN_CHUNK, int(_CHUNK_S / max(each_s, 1e-6)), len(tasks) // (processes * 2)))
    with _pool(processes) as pool:
        yield from islice(pool.map(work, tasks, chunksize=size), len(tasks))


@contextmanager
def _pool(processes: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that end with the block, however it ends."""
    context = get_context("fork" if can_fork() else "spawn")
    # What is there when a process begins, all modules, stays: its collector need not look at that again and again.
    pool = ProcessPoolExecutor(processes, context, initializer=gc.freeze)
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _start_s() -> float:
    return FORKED_S if can_fork() else SPAWNED_S
