"""Curves over an axis of spans of time, on a logarithmic scale."""

from collections.abc import Sequence
from math import log
from typing import Final

from fakebroker.analysis.pipeline.report.charts.bars import Series
from fakebroker.analysis.pipeline.report.charts.scales import apart, count_ticks
from fakebroker.analysis.pipeline.report.charts.svg import (
    LINE,
    WIDTH,
    circle,
    drawing,
    label,
    legend,
    line,
    polyline,
    width_of,
)
from fakebroker.analysis.pipeline.report.words import span_text

_HEIGHT: Final = 240
_RIGHT: Final = WIDTH - 60
_ROOM: Final = 70  # of a text below the axis


def curves(spans_ms: Sequence[int], series: Sequence[Series], unit: str, of: str) -> str:
    """A curve for each series, with a point at each span; `of` says what the spans are."""
    ticks = count_ticks(max((max(each.values) for each in series), default=0))
    left = width_of([f"{each:,}" for each in ticks]) + 30
    top, bottom = LINE + 8, LINE + 8 + _HEIGHT
    logs = [log(max(each, 1)) for each in spans_ms]
    low, high = min(logs), max(logs)
    xs = [left + (_RIGHT - left) * ((each - low) / (high - low) if high > low else 0.5) for each in logs]

    def y(value: float) -> float:
        return bottom - (bottom - top) * value / ticks[-1]

    parts = [label(left - 30, LINE - 2, unit, "start")]
    for each in ticks:
        parts += [line(left - 20, y(each), _RIGHT + 20, y(each)), label(left - 28, y(each) + 4, f"{each:,}", "end")]
    for x, span, is_shown in zip(xs, spans_ms, apart(xs, _ROOM), strict=True):
        parts.append(line(x, bottom, x, bottom + 5))
        parts += [label(x, bottom + LINE + 4, span_text(span))] if is_shown else []
    parts.append(label((left + _RIGHT) / 2, bottom + 2 * LINE + 6, of))
    for one in series:
        parts.append(polyline([(x, y(value)) for x, value in zip(xs, one.values, strict=True)], one.kind))
    for one in series:
        parts += [
            circle(x, y(value), one.kind, f"{one.label}, {of} {span_text(span)}: {value:,} {unit}")
            for x, value, span in zip(xs, one.values, spans_ms, strict=True)
        ]
    return legend([(each.kind, each.label) for each in series]) + drawing(bottom + 2 * LINE + 12, parts)
