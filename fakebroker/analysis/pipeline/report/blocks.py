"""What a report is made of: sections with findings, numbers, plots and grids. Names in them are not escaped."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

Severity = Literal["problem", "look", "note"]  # something is wrong, should be looked at, is good to know


class Command(NamedTuple):
    """A cell that is a command to copy."""

    text: str


class Span(NamedTuple):
    """A cell that is a span of time; None: unknown."""

    ms: float | None


Cell = str | int | float | bool | Command | Span | None


class Finding(NamedTuple):
    """Something to look at first, a sentence. `key` is the section that has more of it."""

    severity: Severity
    text: str
    key: str


class Number(NamedTuple):
    """A headline number; `about` says of what it is part, or "" ."""

    label: str
    value: str
    about: str = ""


class Text(NamedTuple):
    """A paragraph."""

    text: str


class Grid(NamedTuple):
    """Rows and columns. `about` says what it shows."""

    about: str
    headings: Sequence[str]
    rows: Sequence[Sequence[Cell]]


class Plot(NamedTuple):
    """A chart, which is HTML of `charts`, what it shows, and the same as a grid."""

    about: str
    chart: str
    grid: Grid


Block = Text | Grid | Plot


class Section(NamedTuple):
    """A part of the report. `key` is its name in links."""

    key: str
    title: str
    blocks: Sequence[Block]
    numbers: Sequence[Number] = ()
    findings: Sequence[Finding] = ()
