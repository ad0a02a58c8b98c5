"""What a piece of work takes: seconds by the clock, and seconds of processors, of Java and of Python's workers, too.

On a machine that has other work the latter say more.
"""

import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
_TIMES = slice(11, 15)  # user and system, its own and of its children that have ended
_PARENT, _MEMORY = 1, 21
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_COUNTED = 50_000_000  # takes seconds


class Took(NamedTuple):
    """Seconds by the clock, and of all processors."""

    wall_s: float
    cpu_s: float

    def __add__(self, other: object) -> "Took":
        assert isinstance(other, Took)
        return Took(self.wall_s + other.wall_s, self.cpu_s + other.cpu_s)

    def __str__(self) -> str:
        return f"{self.wall_s:.1f} s ({self.cpu_s:.0f})"


def took(work: Callable[[], object]) -> Took:
    """Do the work; how long it took.

    A process that was there before and ends meanwhile, as Python's workers do that have nothing to do for a minute,
    counts with what it had taken when the work began.
    """
    began_s, before = time.perf_counter(), _cpu_s()
    work()
    took_s, after = time.perf_counter() - began_s, _cpu_s()
    return Took(took_s, sum(after.values()) - sum(cpu_s for process, cpu_s in before.items() if process in after))


def goal(wanted: float, is_met: bool) -> str:
    """How the page says whether a goal was met."""
    return f"goal {wanted:g}: {'met' if is_met else 'MISSED'}"


def machine_scaling() -> float:
    """How many times as much two processes do on two cores as one on one, of work that shares nothing.

    Cores of a virtual machine may be two threads of one core, or of a machine that has other guests.
    """
    one, two = (_counting_s(processes) for processes in (1, 2))
    return 2 * one / two


def _counting_s(processes: int) -> float:
    """How long so many processes take that all count as far."""
    with ProcessPoolExecutor(processes) as pool:
        list(pool.map(_count, [1] * processes))  # they are started
        began_s = time.perf_counter()
        list(pool.map(_count, [_COUNTED] * processes))
        return time.perf_counter() - began_s


def _count(most: int) -> int:
    return sum(number & 7 for number in range(most))


def use_cores(cores: int) -> None:
    """Keep this process, and all that it starts, on so many cores: Spark's own threads would use the others, too."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])


def _cpu_s() -> dict[int, float]:
    return {process: used.cpu_s for process, used in processes(os.getpid()).items()}


class Used(NamedTuple):
    """What a process uses: seconds of processors, of its own and of its children that have ended, and memory."""

    cpu_s: float
    memory_bytes: int


def processes(root: int) -> dict[int, Used]:
    """A process and all that it started, by process id, as far as they or their parents are still there."""
    children: dict[int, list[int]] = {}
    used: dict[int, Used] = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            stat = (folder / "stat").read_text()
        except OSError:  # it has ended
            continue
        fields = stat[stat.rindex(")") + 2 :].split()
        cpu_s = sum(map(int, fields[_TIMES])) / _TICKS_A_SECOND
        used[int(folder.name)] = Used(cpu_s, int(fields[_MEMORY]) * _PAGE_BYTES)
        children.setdefault(int(fields[_PARENT]), []).append(int(folder.name))
    found, waiting = {}, [root]
    while waiting:
        process = waiting.pop()
        found[process] = used.get(process, Used(0, 0))
        waiting += children.get(process, [])
    return found
