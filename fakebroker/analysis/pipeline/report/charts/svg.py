"""Elements of SVG, and what all charts share: their size, names beside them, a legend."""

from collections.abc import Sequence
from html import escape as html_escape
from typing import Final

from fakebroker.analysis.pipeline.report.words import visible

WIDTH: Final = 1000  # units of a chart, about a pixel each on a wide screen
TEXT: Final = 12  # height of letters
LINE: Final = 16  # from one line of text to the next
MAX_SERIES: Final = 7
OTHERS: Final = "others"
GOOD: Final = "c2"
BAD: Final = "c3"
_NAME_LENGTH: Final = 34
_LETTER: Final = 6.6  # width of a letter, roughly


def escape(text: str) -> str:
    """A text as a page shows it."""
    return html_escape(visible(text))


def series_class(place: int) -> str:
    """The colour of the series at a place: the first seven differ."""
    return f"c{place % MAX_SERIES}"


def drawing(height: float, parts: Sequence[str]) -> str:
    """A chart of this height, made of elements. Its description stands in the page, around it."""
    inside = "".join(parts)
    return f'<svg viewBox="0 0 {WIDTH} {number(height)}" font-size="{TEXT}" aria-hidden="true">{inside}</svg>'


def number(value: float) -> str:
    """A coordinate with one decimal at most."""
    return f"{value:.1f}".removesuffix(".0")


def rect(x: float, y: float, width: float, height: float, kind: str, title: str = "") -> str:
    """A filled rectangle, with a text that a pointer over it shows."""
    place = f'x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}"'
    return f'<rect class="{kind}" {place}>{_title(title)}</rect>'


def circle(x: float, y: float, kind: str, title: str) -> str:
    """A point, with a text that a pointer over it shows."""
    return f'<circle class="{kind}" cx="{number(x)}" cy="{number(y)}" r="4">{_title(title)}</circle>'


def line(x1: float, y1: float, x2: float, y2: float) -> str:
    """A line of a grid or an axis."""
    return f'<line x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}"/>'


def polyline(points: Sequence[tuple[float, float]], kind: str) -> str:
    """A curve through these points."""
    return f'<polyline class="{kind}" points="{" ".join(f"{number(x)},{number(y)}" for x, y in points)}"/>'


def label(x: float, y: float, text: str, anchor: str = "middle", kind: str = "") -> str:
    """A text at a place: `anchor` says which end of it is there (start, middle, end)."""
    of_kind = f' class="{kind}"' if kind else ""
    return f'<text{of_kind} x="{number(x)}" y="{number(y)}" text-anchor="{anchor}">{escape(text)}</text>'


def _title(text: str) -> str:
    return f"<title>{escape(text)}</title>" if text else ""


def shortened(text: str) -> str:
    """A name beside a chart, without its middle if it is long."""
    if len(text) <= _NAME_LENGTH:
        return text
    half = _NAME_LENGTH // 2
    return f"{text[: half - 1]}…{text[-half:]}"


def width_of(texts: Sequence[str]) -> float:
    """The room that the longest of these texts needs, and some space beside it."""
    return _LETTER * max((len(visible(each)) for each in texts), default=0) + 12


def name_labels(names: Sequence[str], right: float, top: float, row_height: float) -> list[str]:
    """The names of rows, the first on top, which end at `right`; a pointer over one shows it whole."""
    return [
        f'<text x="{number(right - 8)}" y="{number(top + (place + 0.5) * row_height + 4)}" text-anchor="end">'
        f"{escape(shortened(name))}{_title(name if shortened(name) != name else '')}</text>"
        for place, name in enumerate(names)
    ]


def legend(entries: Sequence[tuple[str, str]]) -> str:
    """What colours stand for: (class, text) of each."""
    items = "".join(f'<li><i class="{kind}"></i>{escape(text)}</li>' for kind, text in entries)
    return f"<ul class=legend>{items}</ul>"
