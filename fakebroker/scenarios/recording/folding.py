"""Steps that come again and again, written once: `repeat`."""

from collections.abc import Sequence
from typing import Any

Json = Any
MAX_STEPS_AT_ONCE = 8
FEWEST_TIMES = 3


def folded(steps: Sequence[Json]) -> list[Json]:
    """The same steps, with `repeat` where the same few come at least three times in a row."""
    found: list[Json] = []
    at = 0
    while at < len(steps):
        size, times = _longest_run(steps, at)
        if times >= FEWEST_TIMES:
            found.append({"repeat": times, "steps": list(steps[at : at + size])})
            at += size * times
        else:
            found.append(steps[at])
            at += 1
    return found


def _longest_run(steps: Sequence[Json], at: int) -> tuple[int, int]:
    """(steps, times) of what repeats from `at` on and covers most; (1, 1) for nothing."""
    best = (1, 1)
    for size in range(1, MAX_STEPS_AT_ONCE + 1):
        window = steps[at : at + size]
        if len(window) < size or any("save" in step for step in window):
            break
        times = 1
        while steps[at + times * size : at + (times + 1) * size] == window:
            times += 1
        if times >= FEWEST_TIMES and size * times > best[0] * best[1]:
            best = (size, times)
    return best
