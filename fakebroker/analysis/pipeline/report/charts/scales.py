"""Axes: where their ticks are and what stands there, and the bins into which time is cut."""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final, NamedTuple

MAX_BINS: Final = 72
_MAX_TICKS: Final = 8
_DAY_MS: Final = 86_400_000
_BINS_MS: Final = (100, 1000, 10_000, 60_000, 300_000, 900_000, 3_600_000, 10_800_000, 21_600_000, _DAY_MS)
_STEPS_MS: Final = (
    10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 900_000,
    1_800_000, 3_600_000, 7_200_000, 10_800_000, 21_600_000, 43_200_000, _DAY_MS, 2 * _DAY_MS, 7 * _DAY_MS,
    14 * _DAY_MS, 28 * _DAY_MS, 91 * _DAY_MS, 182 * _DAY_MS, 364 * _DAY_MS,
)  # fmt: skip


class Tick(NamedTuple):
    """A place on an axis of time, what stands there, and the date below it where a day begins."""

    ms: int
    text: str
    date: str = ""


def bin_ms(first_ms: int, last_ms: int) -> int:
    """The width of the bins into which this time is cut: a round span, so that there are MAX_BINS at most."""
    span_ms = last_ms - first_ms + 1
    for width in _BINS_MS:
        if span_ms / width <= MAX_BINS:
            return width
    return _DAY_MS * -(-span_ms // (MAX_BINS * _DAY_MS))


def time_ticks(first_ms: int, last_ms: int) -> list[Tick]:
    """Round moments of this span, as precise as their distance needs; UTC."""
    span_ms = last_ms - first_ms
    largest = _STEPS_MS[-1]
    step = next(
        (each for each in _STEPS_MS if span_ms / each <= _MAX_TICKS), largest * -(-span_ms // (_MAX_TICKS * largest))
    )
    moments = range(-(-first_ms // step) * step, last_ms + 1, step)
    if step >= _DAY_MS:
        return [Tick(each, f"{_moment(each):%Y-%m-%d}") for each in moments]
    texts = [Tick(each, _time_of_day(each, step), f"{_moment(each):%Y-%m-%d}") for each in moments]
    same_day = [tick._replace(date="") if tick.date == before.date else tick for before, tick in pairwise(texts)]
    return [*texts[:1], *same_day]


def _moment(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


def _time_of_day(ms: int, step_ms: int) -> str:
    when = _moment(ms)
    if step_ms < 1000:
        return f"{when:%H:%M:%S}.{ms % 1000:03}"
    return f"{when:%H:%M}" if step_ms >= 60_000 else f"{when:%H:%M:%S}"


def count_ticks(most: int) -> list[int]:
    """Round numbers from 0 to `most`, or a little more, without fractions."""
    size = 1
    while True:
        for step in (size, 2 * size, 5 * size):
            if most <= 5 * step:
                return list(range(0, max(-(-most // step), 1) * step + 1, step))
        size *= 10


def apart(places: Sequence[float], room: float) -> list[bool]:
    """Which of these places, in their order, have so much room between them that a text fits at each."""
    chosen, last = [], float("-inf")
    for place in places:
        chosen.append(place - last >= room)
        last = place if chosen[-1] else last
    return chosen
