"""Rows of cells that are darker, or on dark ground lighter, the larger their values are."""

from collections.abc import Sequence
from math import log
from typing import Final, NamedTuple

from fakebroker.analysis.pipeline.report.charts import svg
from fakebroker.analysis.pipeline.report.charts.scales import apart
from fakebroker.analysis.pipeline.report.words import short

LEVELS: Final = 8
_HIGH: Final = 5  # from this level on, text on a cell has the colour of the ground
_ROW: Final = 22
_MAX_CELL: Final = 60


class Cell(NamedTuple):
    """A cell: its value, what a pointer over it shows, a text on it, and whether it has a mark."""

    value: int
    title: str
    text: str = ""
    is_marked: bool = False


def heat_map(
    names: Sequence[str],
    rows: Sequence[Sequence[Cell | None]],
    ticks: Sequence[tuple[float, Sequence[str]]],
    unit: str = "",
) -> str:
    """A row for each name, the first on top. `ticks` are places among the columns, with lines of text.

    Values are compared by their logarithms, so that 10 and 10,000 differ; with a unit there is a legend.
    """
    left = svg.width_of([svg.shortened(each) for each in names])
    columns = max(map(len, rows), default=0)
    cell = min(_MAX_CELL, (svg.WIDTH - 24 - left) / max(columns, 1))
    lines = max((len(texts) for _, texts in ticks), default=0)
    top = lines * svg.LINE + 6
    most = max((each.value for row in rows for each in row if each is not None), default=0)
    parts = svg.name_labels(names, left, top, _ROW)
    room = svg.width_of([text for _, texts in ticks for text in texts])
    for (place, texts), is_shown in zip(ticks, apart([place * cell for place, _ in ticks], room), strict=True):
        if not is_shown:
            continue
        parts += [svg.label(left + place * cell, svg.LINE * (n + 1) - 2, text) for n, text in enumerate(texts)]
    for y, row in enumerate(rows):
        for x, each in enumerate(row):
            if each is not None:
                parts += _cell(each, left + x * cell, top + y * _ROW, cell, level_of(each.value, most))
    key = svg.legend(_levels(most, unit)) if unit else ""
    return key + svg.drawing(top + _ROW * len(names) + 4, parts)


def level_of(value: int, most: int) -> int:
    """0 for 0; the others on a logarithmic scale from 1 to LEVELS, which is that of `most`."""
    return 0 if value <= 0 else 1 + min(LEVELS - 1, int(LEVELS * log(value + 1) / log(most + 1)))


def _cell(cell: Cell, x: float, y: float, width: float, level: int) -> list[str]:
    parts = [svg.rect(x, y, max(width - 1, 0.5), _ROW - 1, f"h{level}", cell.title)]
    if cell.text:
        parts.append(
            svg.label(x + width / 2, y + _ROW / 2 + 4, cell.text, kind="on-high" if level >= _HIGH else "on-low")
        )
    if cell.is_marked:
        right, top = x + width - 3, y + 2
        corners = ((right, top), (right - 6, top), (right, top + 6))
        points = " ".join(f"{svg.number(a)},{svg.number(b)}" for a, b in corners)
        parts.append(f'<polygon class="mark" points="{points}"/>')
    return parts


def _levels(most: int, unit: str) -> list[tuple[str, str]]:
    """An entry for each level that some value up to `most` has, with the largest such value."""
    found = [("h0", f"0 {unit}")]
    for level in range(1, LEVELS + 1):
        upper = most if level == LEVELS else int((most + 1) ** (level / LEVELS) - 1e-9) - 1
        if upper >= 1 and level_of(upper, most) == level:
            found.append((f"h{level}", f"≤ {short(upper)}"))
    return found
