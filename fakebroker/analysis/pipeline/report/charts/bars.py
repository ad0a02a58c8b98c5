"""Stacked bars: over time, and one for each name."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from fakebroker.analysis.pipeline.report.charts import svg
from fakebroker.analysis.pipeline.report.charts.scales import count_ticks, time_ticks
from fakebroker.analysis.pipeline.report.words import moment_text

_LEAST_BINS: Final = 16  # an axis has room for so many: two bars are bars, and no walls
_HEIGHT: Final = 240  # of the bars over time
_ROW: Final = 24  # of the bars with names
_RIGHT: Final = svg.WIDTH - 24


class Series(NamedTuple):
    """What has one colour in a chart: the class of that colour, a name, and a number for each bar."""

    kind: str
    label: str
    values: Sequence[int]


def time_bars(times_ms: Sequence[int], width_ms: int, series: Sequence[Series], unit: str) -> str:
    """Bars over time; `times_ms` are the beginnings of the bins, which are `width_ms` long."""
    ticks = count_ticks(max(map(sum, zip(*(each.values for each in series), strict=True)), default=0))
    left = svg.width_of([f"{each:,}" for each in ticks])
    top, bottom = svg.LINE + 8, svg.LINE + 8 + _HEIGHT
    first, last = min(times_ms), max(times_ms) + width_ms
    room_ms = max(width_ms, (_LEAST_BINS * width_ms - (last - first)) // 2)
    begin, end = first - room_ms, last + room_ms

    def x(ms: float) -> float:
        return left + (_RIGHT - left) * (ms - begin) / (end - begin)

    def y(value: float) -> float:
        return bottom - (bottom - top) * value / ticks[-1]

    parts = [svg.label(left, svg.LINE - 2, unit, "start")]
    for each in ticks:
        parts += [svg.line(left, y(each), _RIGHT, y(each)), svg.label(left - 8, y(each) + 4, f"{each:,}", "end")]
    for tick in time_ticks(begin, end):
        parts += [
            svg.line(x(tick.ms), bottom, x(tick.ms), bottom + 5),
            svg.label(x(tick.ms), bottom + svg.LINE + 4, tick.text),
        ]
        if tick.date:
            parts.append(svg.label(x(tick.ms), bottom + 2 * svg.LINE + 4, tick.date))
    for place, ms in enumerate(times_ms):
        below = 0
        for one in series:
            if value := one.values[place]:
                title = f"{one.label}: {value:,} {unit}, {moment_text(ms, width_ms)}"
                start, stop = x(ms + 0.05 * width_ms), x(ms + 0.95 * width_ms)
                parts.append(
                    svg.rect(start, y(below + value), stop - start, y(below) - y(below + value), one.kind, title)
                )
                below += value
    return svg.legend([(each.kind, each.label) for each in series]) + svg.drawing(bottom + 2 * svg.LINE + 12, parts)


def ranked_bars(names: Sequence[str], series: Sequence[Series], unit: str, *, as_shares: bool = False) -> str:
    """A bar for each name, the first on top; with `as_shares` all are equally long, and show shares of the whole."""
    totals = [sum(each.values[place] for each in series) for place in range(len(names))]
    ticks = [0, 25, 50, 75, 100] if as_shares else count_ticks(max(totals, default=0))
    left = svg.width_of([svg.shortened(each) for each in names])
    bottom = _ROW * len(names)

    def x(value: float) -> float:
        return left + (_RIGHT - left) * value / ticks[-1]

    parts = svg.name_labels(names, left, 0, _ROW)
    for each in ticks:
        text = f"{each} %" if as_shares else f"{each:,}"
        parts += [svg.line(x(each), 0, x(each), bottom), svg.label(x(each), bottom + svg.LINE, text)]
    parts.append(svg.label((left + _RIGHT) / 2, bottom + 2 * svg.LINE, unit))
    for place in range(len(names)):
        before = 0.0
        for one in series:
            if value := one.values[place]:
                part = 100 * value / totals[place] if as_shares else value
                title = f"{names[place]}: {value:,} of {totals[place]:,} {unit} {one.label}"
                parts.append(svg.rect(x(before), place * _ROW + 3, x(part) - x(0), _ROW - 6, one.kind, title))
                before += part
    return svg.legend([(each.kind, each.label) for each in series]) + svg.drawing(bottom + 2 * svg.LINE + 8, parts)
