"""Figures of plotly with what all of them share: colours, axes of time, names that are shown as they are.

Colours are Okabe and Ito's, which people with any kind of colour vision tell apart, on light and on dark ground. Text,
lines and grounds have none here: the page gives them those of its theme (page.js), as it does with the scale of a
trace whose `meta` is SCALE.
"""

import html
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from fakebroker.analysis.pipeline.report.words import short, visible

PALETTE: Final = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#B39B00")
OTHERS: Final = "#8C8C8C"
GOOD, BAD = PALETTE[2], PALETTE[3]
SCALE: Final = "scale"
MAX_SERIES: Final = len(PALETTE)
MAX_BINS: Final = 72
LEAST_BINS: Final = 16
FEW: Final = 8  # so few that an axis has a line for each
_NAME_LENGTH: Final = 34

_BINS_MS = (100, 1000, 10_000, 60_000, 300_000, 900_000, 3_600_000, 10_800_000, 21_600_000, 86_400_000)
_DAY_MS = 86_400_000


def bin_ms(first_ms: int, last_ms: int) -> int:
    """The width of the bins into which this time is cut: a round span, so that there are MAX_BINS at most."""
    span_ms = last_ms - first_ms + 1
    for width in _BINS_MS:
        if span_ms / width <= MAX_BINS:
            return width
    return _DAY_MS * -(-span_ms // (MAX_BINS * _DAY_MS))


def name(text: str) -> str:
    """A name in a figure: shortened in the middle, and escaped, since plotly takes texts for HTML."""
    if len(text) > _NAME_LENGTH:
        half = _NAME_LENGTH // 2
        text = f"{text[: half - 1]}…{text[-half:]}"
    return escaped(text)


def escaped(text: str) -> str:
    """A text that plotly shows as it is."""
    return html.escape(visible(text), quote=False)


def at(ms: int) -> str:
    """A time as plotly reads it."""
    return f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d %H:%M:%S.%f}"


def figure(traces: Sequence[dict[str, Any]], **layout: Any) -> dict[str, Any]:
    """A figure of these traces. Raises ValueError for what plotly does not know."""
    import plotly.graph_objects as go

    base = {"margin": {"l": 8, "r": 20, "t": 8, "b": 8}, "hovermode": "closest", "showlegend": False}
    made: dict[str, Any] = go.Figure(data=list(traces), layout={**base, **layout}).to_plotly_json()
    made["layout"].pop("template", None)  # large, and replaced by the page's theme
    return {"data": [_plain(each) for each in made["data"]], "layout": _plain(made["layout"])}


def _plain(value: Any) -> Any:
    """Lists where plotly has tuples, so that a figure is the same as its JSON."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def axis(title: str = "", **more: Any) -> dict[str, Any]:
    """An axis with a title, which makes room for its labels."""
    return {"title": {"text": title, "standoff": 8}, "automargin": True, **more}


def count_axis(title: str, most: int) -> dict[str, Any]:
    """An axis from 0 for counts up to `most`, without fractions of one."""
    steps = {"dtick": 1} if most <= FEW else {}
    return axis(title, rangemode="tozero", tickformat=",d", **steps)


def names_axis(places: Sequence[Any], names: Sequence[str]) -> dict[str, Any]:
    """An axis of bars with a name each, the first on top."""
    return axis(tickvals=places, ticktext=names, autorange="reversed", showgrid=False, zeroline=False, fixedrange=True)


LEGEND_ABOVE: Final = {
    "orientation": "h",
    "y": 1.02,
    "yanchor": "bottom",
    "x": 0,
    "xanchor": "left",
    "traceorder": "normal",
}


def stacked_bars(
    times: Sequence[int], width_ms: int, series: Sequence[tuple[str, Sequence[int]]], unit: str, colours: Sequence[str]
) -> dict[str, Any]:
    """Bars over time, a colour for each series; `times` are the beginnings of the bins."""
    traces = [
        {
            "type": "bar",
            "name": escaped(label),
            "x": [at(each + width_ms // 2) for each in times],
            "y": list(values),
            "width": width_ms * 0.9,
            "marker": {"color": colour, "line": {"width": 0}},
            "hovertemplate": f"%{{y:,}} {unit}<br>%{{x|%Y-%m-%d %H:%M:%S}}<extra>{escaped(label)}</extra>",
        }
        for (label, values), colour in zip(series, colours, strict=True)
    ]
    return figure(
        traces,
        barmode="stack",
        showlegend=True,
        legend=LEGEND_ABOVE,
        xaxis=axis(type="date", range=_around(times, width_ms)),
        yaxis=count_axis(unit, max(map(sum, zip(*(values for _, values in series), strict=True)), default=0)),
    )


def _around(times: Sequence[int], width_ms: int) -> list[str]:
    """The span of an axis with all bins and room for a few at least: a single bar is a bar, and no wall."""
    first, last = min(times), max(times) + width_ms
    room_ms = max(width_ms, (LEAST_BINS * width_ms - (last - first)) // 2)
    return [at(first - room_ms), at(last + room_ms)]


def heat_map(
    columns: Sequence[Any],
    rows: Sequence[str],
    values: Sequence[Sequence[float | None]],
    hover: Sequence[Sequence[str]],
    scale_title: str,
    **layout: Any,
) -> dict[str, Any]:
    """Rows of cells, the first at the top, coloured by the logarithm of their values, so that 10 and 10,000 differ.

    `columns` are the middles of the cells, or where they begin and the last one ends.
    """
    from math import log10

    most = max((each for row in values for each in row if each is not None), default=0)
    powers = range(len(str(int(most))) + (1 if most else 0))
    trace = {
        "type": "heatmap",
        "x": list(columns),
        "y": list(range(len(rows))),
        "z": [[None if each is None else log10(max(each, 0) + 1) for each in row] for row in values],
        "text": [list(row) for row in hover],
        "hovertemplate": "%{text}<extra></extra>",
        "hoverongaps": False,
        "xgap": 1,
        "ygap": 1,
        "zmin": 0,
        "meta": SCALE,
        "colorbar": {
            "title": {"text": scale_title, "side": "right"},
            "tickvals": [0, *(log10(10**each + 1) for each in powers)],
            "ticktext": ["0", *(short(10**each) for each in powers)],
            "thickness": 12,
            "outlinewidth": 0,
        },
    }
    yaxis: dict[str, Any] = {
        "tickvals": list(range(len(rows))),
        "ticktext": [name(each) for each in rows],
        "range": [len(rows) - 0.5, -0.5],
        "showgrid": False,
        "zeroline": False,
        "fixedrange": True,
    }
    return figure([trace], **{"yaxis": axis(**yaxis), **layout})
