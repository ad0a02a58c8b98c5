"""State machines as drawings in SVG: a page gives the places of the states, its table gives the arrows and their texts.

The drawing takes its colours from four variables, so that a site can give it those of its theme. Alone it follows the
reader's own choice of light or dark.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import NamedTuple

START, END = "start", "end"  # the dots where the life of the thing begins and ends
_COLUMN, _ROW, _MARGIN = 172, 112, 14  # between the middles of two places that differ by one; around the drawing
_HEIGHT, _CHARACTER, _PADDING = 32, 7.8, 18  # of a state; its width follows from its name
_DOT = 7
_LINE, _LETTER = 13, 5.7  # height of a line of text at an arrow, width of a letter
_LOOP = 26  # how far an arrow from a state to itself goes from the state
_STYLE = """
svg.states { --ink: #1f2328; --line: #6e7781; --paper: #ffffff; --fill: #eef3fa; }
@media (prefers-color-scheme: dark) {
  svg.states { --ink: #e6edf3; --line: #8b949e; --paper: #131416; --fill: #1f2a3a; }
}
svg.states text { font: 11px system-ui, sans-serif; fill: var(--ink); text-anchor: middle; }
svg.states .state { font: 600 12.5px system-ui, sans-serif; }
svg.states rect { fill: var(--fill); stroke: var(--line); }
svg.states .several { fill: none; stroke-dasharray: 4 3; }
svg.states .behind { fill: var(--paper); stroke: none; }
svg.states path { fill: none; stroke: var(--line); stroke-width: 1.3; }
svg.states marker path, svg.states .dot { fill: var(--line); stroke: none; }
svg.states .ring { fill: none; stroke: var(--line); }
"""


class Position(NamedTuple):
    """Where a state stands: column and row, from the left and from the top; fractions are allowed."""

    column: float
    row: float


class Arrow(NamedTuple):
    """From a state to another one or to itself, START or END included, and what makes it go there."""

    before: str
    after: str
    text: str = ""


class Route(NamedTuple):
    """How an arrow goes where the usual way would not do.

    `bend` is how far it goes to the left of a straight line, seen by one who goes along, in parts of its length;
    negative is to the right. `at` is where on the arrow its text stands: 0 is its beginning, 1 its end. An arrow from
    a state to itself goes over the top; with a negative `bend` below.
    """

    bend: float = 0.0
    at: float = 0.5


class Layout(NamedTuple):
    """The place of each state, the routes of arrows that do not go the usual way, and the longest line of a text."""

    places: Mapping[str, Position]
    routes: Mapping[tuple[str, str], Route] = {}
    wrap: int = 22


class _Point(NamedTuple):
    x: float
    y: float


class _Box(NamedTuple):
    """A part of the drawing, and the space that it takes."""

    svg: str
    corners: tuple[_Point, ...]


def state_diagram(title: str, arrows: Sequence[Arrow], layout: Layout) -> str:
    """The drawing. Raises ValueError for a state without a place, and for a place or route that no arrow has."""
    _check(arrows, layout)
    points = {name: _Point(place.column * _COLUMN, place.row * _ROW) for name, place in layout.places.items()}
    texts: dict[tuple[str, str], list[str]] = {}
    for arrow in arrows:
        texts.setdefault((arrow.before, arrow.after), []).append(arrow.text)
    several = {arrow.before for arrow in arrows} - {arrow.after for arrow in arrows} - {START}
    lines: list[_Box] = []
    labels: list[_Box] = []
    for pair, reasons in texts.items():
        line, middle = _line(points, pair, layout.routes.get(pair) or _usual_route(pair, texts))
        lines.append(line)
        label = _wrapped(reasons, layout.wrap)
        if pair[0] == pair[1]:
            middle = _beside(points[pair[0]], middle, len(label))
        labels.append(_label(middle, label))
    states = [_state(name, point, name in several) for name, point in points.items()]
    return _drawing(title, [*lines, *states, *labels])


def gathered(arrows: Sequence[Arrow], after: str, text: str, name: str) -> list[Arrow]:
    """The arrows, with one from `name` in place of all that enter the state `after` for this reason."""
    kept = [arrow for arrow in arrows if (arrow.after, arrow.text) != (after, text)]
    return [*kept, Arrow(name, after, text)]


def _check(arrows: Sequence[Arrow], layout: Layout) -> None:
    used = {name for arrow in arrows for name in (arrow.before, arrow.after)}
    if used != set(layout.places):
        raise ValueError(f"states and places differ: {sorted(used ^ set(layout.places))}")
    if unused := set(layout.routes) - {(arrow.before, arrow.after) for arrow in arrows}:
        raise ValueError(f"no arrow takes these routes: {sorted(unused)}")


def _usual_route(pair: tuple[str, str], drawn: Iterable[tuple[str, str]]) -> Route:
    """Straight; beside an arrow that goes back, bent."""
    return Route(0.15 if pair[::-1] in drawn else 0.0)


def _drawing(title: str, boxes: Sequence[_Box]) -> str:
    """The boxes, and a frame around them."""
    corners = [corner for box in boxes for corner in box.corners]
    left, top = min(c.x for c in corners) - _MARGIN, min(c.y for c in corners) - _MARGIN
    width, height = max(c.x for c in corners) + _MARGIN - left, max(c.y for c in corners) + _MARGIN - top
    frame = f'viewBox="{left:.0f} {top:.0f} {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    head = '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="states" {frame} role="img" aria-label="{escape(title)}">',
        f"<style>{_STYLE}</style>",
        f'<defs>{head}<path d="M0 0 8 4 0 8z"/></marker></defs>',
        *(box.svg for box in boxes if box.svg),
        "</svg>\n",
    ]
    return "\n".join(parts)


def _state(name: str, point: _Point, is_several: bool) -> _Box:
    x, y = point
    half_width, half_height = _half(name)
    corners = (_Point(x - half_width, y - half_height), _Point(x + half_width, y + half_height))
    if name == START:
        return _Box(f'<circle class="dot" cx="{x:.0f}" cy="{y:.0f}" r="{_DOT}"/>', corners)
    if name == END:
        ring = f'<circle class="ring" cx="{x:.0f}" cy="{y:.0f}" r="{_DOT}"/>'
        return _Box(f'{ring}<circle class="dot" cx="{x:.0f}" cy="{y:.0f}" r="{_DOT - 3}"/>', corners)
    kind = ' class="several"' if is_several else ""
    size = f'width="{2 * half_width:.0f}" height="{_HEIGHT}"'
    box = f'<rect{kind} x="{corners[0].x:.0f}" y="{corners[0].y:.0f}" {size} rx="8"/>'
    return _Box(f'{box}<text class="state" x="{x:.0f}" y="{y + 4:.0f}">{escape(name)}</text>', corners)


def _half(name: str) -> tuple[float, float]:
    """Half of the width and of the height of a state."""
    return (_DOT, _DOT) if name in (START, END) else ((len(name) * _CHARACTER + _PADDING) / 2, _HEIGHT / 2)


def _line(points: Mapping[str, _Point], pair: tuple[str, str], route: Route) -> tuple[_Box, _Point]:
    """The line of an arrow, and where its text stands."""
    a, b = (points[name] for name in pair)
    if a is b:
        return _loop(a, route)
    control = _Point((a.x + b.x) / 2 + (b.y - a.y) * route.bend, (a.y + b.y) / 2 - (b.x - a.x) * route.bend)
    start, end = _border(a, _half(pair[0]), control), _border(b, _half(pair[1]), control)
    way = f"M{start.x:.0f} {start.y:.0f}Q{control.x:.0f} {control.y:.0f} {end.x:.0f} {end.y:.0f}"
    corners = tuple(_on_curve(start, control, end, part / 8) for part in range(9))
    return _Box(f'<path marker-end="url(#head)" d="{way}"/>', corners), _on_curve(start, control, end, route.at)


def _loop(state: _Point, route: Route) -> tuple[_Box, _Point]:
    side = 1 if route.bend < 0 else -1
    edge, tip = state.y + side * _HEIGHT / 2, state.y + side * (_HEIGHT / 2 + _LOOP * 4 / 3)
    ends = (state.x - 16, state.x + 16)
    way = f"M{ends[0]:.0f} {edge:.0f}C{ends[0] - 8:.0f} {tip:.0f} {ends[1] + 8:.0f} {tip:.0f} {ends[1]:.0f} {edge:.0f}"
    middle = _Point(state.x, edge + side * _LOOP)
    return _Box(f'<path marker-end="url(#head)" d="{way}"/>', (middle,)), middle


def _border(middle: _Point, half: tuple[float, float], towards: _Point) -> _Point:
    """Where a line from the middle of a state leaves it."""
    dx, dy = towards.x - middle.x, towards.y - middle.y
    if half[0] == half[1]:
        scale = half[0] / (math.hypot(dx, dy) or 1)
    else:
        scale = min(half[0] / abs(dx) if dx else math.inf, half[1] / abs(dy) if dy else math.inf)
    return _Point(middle.x + dx * scale, middle.y + dy * scale)


def _on_curve(a: _Point, control: _Point, b: _Point, t: float) -> _Point:
    """The point of a quadratic curve at `t`, from 0 to 1."""
    along = [(1 - t) ** 2 * p + 2 * t * (1 - t) * c + t * t * q for p, c, q in zip(a, control, b, strict=True)]
    return _Point(*along)


def _wrapped(texts: Sequence[str], width: int) -> list[str]:
    """The lines of the texts of an arrow; a semicolon stands between two texts."""
    lines: list[str] = []
    for number, text in enumerate(texts, 1):
        begun = len(lines)
        for word in (text + (";" if number < len(texts) else "")).split():
            if len(lines) > begun and len(lines[-1]) + len(word) < width:
                lines[-1] += f" {word}"
            else:
                lines.append(word)
    return lines


def _beside(state: _Point, tip: _Point, lines: int) -> _Point:
    """Where the middle of the text of an arrow from a state to itself is: its nearest line hides the arrow's tip."""
    away = (lines - 1) * _LINE / 2
    return _Point(tip.x, tip.y + (away if tip.y > state.y else -away))


def _label(middle: _Point, lines: Sequence[str]) -> _Box:
    """A text in front of its arrow."""
    if not lines:
        return _Box("", (middle,))
    half_width, half_height = max(map(len, lines)) * _LETTER / 2 + 2, len(lines) * _LINE / 2
    top = middle.y - half_height
    behind = (
        f'<rect class="behind" x="{middle.x - half_width:.0f}" y="{top:.0f}" width="{2 * half_width:.0f}"'
        f' height="{2 * half_height:.0f}"/>'
    )
    spans = "".join(
        f'<tspan x="{middle.x:.0f}" y="{top + number * _LINE + 10:.0f}">{escape(line)}</tspan>'
        for number, line in enumerate(lines)
    )
    corners = (_Point(middle.x - half_width, top), _Point(middle.x + half_width, top + 2 * half_height))
    return _Box(f"{behind}<text>{spans}</text>", corners)
