"""Long work in steps: when a step is over, and what the steps come to.

Work is a generator that yields after each step, so that others have their turn in between (`Call.work`).
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from enum import IntEnum
from typing import Final, TypeVar

T = TypeVar("T")


class Line(IntEnum):
    """Where works that hold much memory wait for one another: those of a line go one after the other."""

    UNPACKING = 0
    PACKING = 1  # which may take a hundred times as long
    WRITING = 2  # an answer of more than some MB


STEP_S: Final = 0.05
"""How long a step takes at most by the stopwatch, if each of its units is short; a turn takes nothing up after that."""

FIRST_STEP_S: Final = 0.000_25
"""The same of the first step of a request while others wait: they would wait for the first steps of all that came."""


def no_stopwatch() -> float:
    """The stopwatch of virtual time, in which no step takes long."""
    return 0.0


class StepTime:
    """What ends a step by time: a stopwatch, and how long the step may take by it."""

    __slots__ = ("cuts", "step_s", "stopwatch")

    def __init__(self, stopwatch: Callable[[], float] = no_stopwatch, step_s: float = STEP_S) -> None:
        """`stopwatch`: seconds since any moment, always the same in virtual time."""
        self.stopwatch = stopwatch
        self.step_s = step_s
        self.cuts = 0  # how many steps it has ended


_VIRTUAL: Final = StepTime()


class Pace:
    """Counts what was done since the last pause, in whatever unit the work is counted: topics, entries, bytes.

    The count ends most steps. The stopwatch ends those whose units cost more than was thought: an entry of a request is
    one unit, and what it stands for may be long.
    """

    __slots__ = ("_ends_s", "_left", "_time", "_units_per_step")

    def __init__(self, units_per_step: int, time: StepTime = _VIRTUAL) -> None:
        """`time`: what ends steps as well; none by default."""
        self._units_per_step = self._left = units_per_step
        self._time = time
        self._ends_s: float | None = None  # begins with the first unit of a step: others have their turns before it

    def count(self, units: int) -> None:
        """Note that so much more was done, by work that cannot pause at this place."""
        self._left -= units

    def is_over(self, units: int = 1) -> bool:
        """Note that so much more was done. True when that is more than a step: the caller yields."""
        self._left -= units
        if self._left >= 0:
            now_s = self._time.stopwatch()
            if self._ends_s is None:
                self._ends_s = now_s + self._time.step_s
            if now_s <= self._ends_s:
                return False
            self._time.cuts += 1
        self._left, self._ends_s = self._units_per_step, None
        return True


ENTRIES_PER_PART: Final = 100

AT_ONCE: Final = Pace(1 << 62)
"""The pace of steps that are few: none of them ends."""


def in_parts(entries: Sequence[T]) -> Iterator[Sequence[T]]:
    """The entries in parts of ENTRIES_PER_PART: to ask after each entry whether the step is over would cost as much."""
    if 0 < len(entries) <= ENTRIES_PER_PART:
        yield entries
        return
    for start in range(0, len(entries), ENTRIES_PER_PART):
        yield entries[start : start + ENTRIES_PER_PART]


def listed(entries: Iterable[T], pace: Pace) -> Generator[None, None, list[T]]:
    """The entries as a list; in steps: each may have to be made."""
    found = list[T]()
    for each in entries:
        found.append(each)
        if pace.is_over():
            yield
    return found


def kept(
    entries: Iterable[T], is_kept: Callable[[T], bool], pace: Pace, units_of_each: int = 1
) -> Generator[None, None, list[T]]:
    """The entries that are kept, in their order; in steps: very many may be asked about for few of them."""
    found = list[T]()
    for each in entries:
        if is_kept(each):
            found.append(each)
        if pace.is_over(units_of_each):
            yield
    return found


def has_any(entries: Iterable[T], is_meant: Callable[[T], bool], pace: Pace) -> Generator[None, None, bool]:
    """Whether one of the entries is meant; in steps, as far as the first that is."""
    for each in entries:
        if is_meant(each):
            return True
        if pace.is_over():
            yield
    return False


def finished(steps: Generator[None, None, T]) -> T:
    """The result of all the steps, taken at once."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
