"""The report as Markdown: the same sections, a plot as the grid that it is made of."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from fakebroker.analysis.pipeline.report.blocks import Block, Cell, Command, Grid, Plot, Span, Text
from fakebroker.analysis.pipeline.report.report import Report
from fakebroker.analysis.pipeline.report.words import span_text, visible

MAX_ROWS: Final = 20
_MARKS: Final = {"problem": "**Problem:** ", "look": "Look: ", "note": ""}


def markdown_of(report: Report) -> str:
    """The report as a text that ends with a newline."""
    lines = [f"# {report.title}", "", f"{_escaped(report.about)}.", "", "## What to look at first", ""]
    lines += [f"- {_MARKS[each.severity]}{_escaped(each.text)}" for each in report.findings] or ["Nothing stands out."]
    if report.numbers:
        lines += ["", "| | | |", "|---|--:|---|"]
        lines += [f"| {_escaped(each.label)} | {each.value} | {_escaped(each.about)} |" for each in report.numbers]
    for section in report.sections:
        lines += ["", f"## {section.title}"]
        for block in section.blocks:
            lines += ["", *_block(block)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _block(block: Block) -> Iterator[str]:
    match block:
        case Text(text):
            yield _escaped(text)
        case Grid():
            yield from _grid(block)
        case Plot():
            yield from _grid(block.grid)


def _grid(grid: Grid) -> Iterator[str]:
    yield f"{_escaped(grid.about)}:"
    yield ""
    numeric = [_is_numeric([row[n] for row in grid.rows]) for n in range(len(grid.headings))]
    yield f"| {' | '.join(map(_escaped, grid.headings))} |"
    yield f"|{'|'.join('--:' if each else '---' for each in numeric)}|"
    for row in grid.rows[:MAX_ROWS]:
        yield f"| {' | '.join(map(_cell, row))} |"
    if len(grid.rows) > MAX_ROWS:
        yield ""
        yield f"... and {len(grid.rows) - MAX_ROWS:,} more rows"


def _is_numeric(cells: Sequence[Cell]) -> bool:
    known = [cell for cell in cells if cell is not None]
    return bool(known) and all(isinstance(cell, int | float | Span) for cell in known)


def _cell(cell: Cell) -> str:
    if isinstance(cell, Command):
        return _code(cell.text)
    if isinstance(cell, Span):
        return "" if cell.ms is None else span_text(cell.ms)
    if isinstance(cell, int | float) and not isinstance(cell, bool):
        return f"{cell:,}"
    return "" if cell is None else _escaped(str(cell))


def _code(text: str) -> str:
    """Code in a cell: in as many backticks as it needs, where a bar would end the cell."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    line = " ".join(visible(text).split("\n")).replace("|", "\\|")
    return f"{fence}{pad}{line}{pad}{fence}"


def _escaped(text: str) -> str:
    """A text in which nothing is Markdown or HTML, on one line."""
    text = re.sub(r"([\\`*\[\]|#~]|\b_|_\b)", r"\\\1", visible(text))  # an underscore inside of a word means nothing
    return " ".join(text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").split())
