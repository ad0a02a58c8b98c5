"""Curves over an axis of spans of time, on a logarithmic scale."""

from collections.abc import Sequence
from math import log
from typing import Final

from fakebroker.analysis.pipeline.report.charts import svg
from fakebroker.analysis.pipeline.report.charts.bars import Series
from fakebroker.analysis.pipeline.report.charts.scales import apart, count_ticks
from fakebroker.analysis.pipeline.report.words import span_text

_HEIGHT: Final = 240
_RIGHT: Final = svg.WIDTH - 60
_ROOM: Final = 70  # of a text below the axis


def curves(spans_ms: Sequence[int], series: Sequence[Series], unit: str, of: str) -> str:
    """A curve for each series, with a point at each span; `of` says what the spans are."""
    ticks = count_ticks(max((max(each.values) for each in series), default=0))
    left = svg.width_of([f"{each:,}" for each in ticks]) + 30
    top, bottom = svg.LINE + 8, svg.LINE + 8 + _HEIGHT
    logs = [log(max(each, 1)) for each in spans_ms]
    low, high = min(logs), max(logs)
    xs = [left + (_RIGHT - left) * ((each - low) / (high - low) if high > low else 0.5) for each in logs]

    def y(value: float) -> float:
        return bottom - (bottom - top) * value / ticks[-1]

    parts = [svg.label(left - 30, svg.LINE - 2, unit, "start")]
    for each in ticks:
        parts += [
            svg.line(left - 20, y(each), _RIGHT + 20, y(each)),
            svg.label(left - 28, y(each) + 4, f"{each:,}", "end"),
        ]
    for x, span, is_shown in zip(xs, spans_ms, apart(xs, _ROOM), strict=True):
        parts.append(svg.line(x, bottom, x, bottom + 5))
        parts += [svg.label(x, bottom + svg.LINE + 4, span_text(span))] if is_shown else []
    parts.append(svg.label((left + _RIGHT) / 2, bottom + 2 * svg.LINE + 6, of))
    for one in series:
        parts.append(svg.polyline([(x, y(value)) for x, value in zip(xs, one.values, strict=True)], one.kind))
    for one in series:
        parts += [
            svg.circle(x, y(value), one.kind, f"{one.label}, {of} {span_text(span)}: {value:,} {unit}")
            for x, value, span in zip(xs, one.values, spans_ms, strict=True)
        ]
    return svg.legend([(each.kind, each.label) for each in series]) + svg.drawing(bottom + 2 * svg.LINE + 12, parts)
