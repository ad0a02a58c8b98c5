"""The report as one HTML page that needs nothing else: style, script and charts are in it."""

from pathlib import Path
from typing import Final

from fakebroker.analysis.pipeline.report.blocks import Block, Cell, Command, Finding, Grid, Plot, Section, Span, Text
from fakebroker.analysis.pipeline.report.charts.svg import escape
from fakebroker.analysis.pipeline.report.report import Report
from fakebroker.analysis.pipeline.report.words import span_text

_HERE: Final = Path(__file__).parent
_WORDS: Final = {"problem": "Problem", "look": "Look", "note": "Note"}
_LONG_WORD: Final = 24  # characters: longer ones may be broken, shorter texts are on one line
# Nothing is loaded from anywhere: the page works from a file, in an e-mail and without a network.
_POLICY: Final = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"


def page_of(report: Report) -> str:
    """The page as a text."""
    sections = "\n".join(map(_section, report.sections))
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{escape(report.title)}</title>",
            f"<style>{_own('page.css')}</style></head><body>",
            _header(report),
            f"<main>{_first(report)}{sections}</main>",
            f"<script>{_own('page.js')}</script>",
            "</body></html>\n",
        ]
    )


def _own(name: str) -> str:
    return (_HERE / name).read_text("utf-8")


def _header(report: Report) -> str:
    links = "".join(f'<a href="#{escape(each.key)}">{escape(each.title)}</a>' for each in report.sections)
    return (
        f"<header><div><h1>{escape(report.title)}</h1><p>{escape(report.about)}</p></div>"
        '<button id="theme" type="button" hidden>theme</button>'
        f"<nav>{links}</nav></header>"
    )


def _first(report: Report) -> str:
    """Headline numbers, and what to look at first."""
    numbers = "".join(
        f"<div class=number><b>{escape(each.value)}</b><span>{escape(each.label)}</span>"
        f"<small>{escape(each.about)}</small></div>"
        for each in report.numbers
    )
    findings = "".join(_finding(each) for each in report.findings) or "<li>Nothing stands out.</li>"
    return (
        f'<section id="first"><div class=numbers>{numbers}</div>'
        f"<h2>What to look at first</h2><ul class=findings>{findings}</ul></section>"
    )


def _finding(finding: Finding) -> str:
    word = f"<b class={finding.severity}>{_WORDS[finding.severity]}</b>"
    text = finding.text[:1].upper() + finding.text[1:]
    return f'<li>{word} <a href="#{escape(finding.key)}">{escape(text)}</a></li>'


def _section(section: Section) -> str:
    blocks = "".join(map(_block, section.blocks))
    return f'<section id="{escape(section.key)}"><h2>{escape(section.title)}</h2>{blocks}</section>'


def _block(block: Block) -> str:
    match block:
        case Text(text):
            return f"<p>{escape(text)}</p>"
        case Grid():
            return f"<figure><figcaption>{escape(block.about)}</figcaption>{_table(block)}</figure>"
        case Plot():
            return (
                f"<figure><figcaption>{escape(block.about)}</figcaption>"
                f'<div class=plot role="img" aria-label="{escape(block.about)}">{block.chart}</div>'
                f"<details><summary>as a table</summary>{_table(block.grid)}</details></figure>"
            )


def _table(grid: Grid) -> str:
    headings = "".join(f"<th scope=col>{escape(each)}</th>" for each in grid.headings)
    rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in grid.rows)
    return f"<div class=table><table><thead><tr>{headings}</tr></thead><tbody>{rows}</tbody></table></div>"


def _cell(cell: Cell) -> str:
    """A cell; `data-sort` has the number by which a column is sorted."""
    if isinstance(cell, Command):
        return f"<td class=long><code>{escape(cell.text)}</code></td>"
    if isinstance(cell, Span):
        sort = "" if cell.ms is None else f' data-sort="{cell.ms}"'
        return f"<td class=n{sort}>{'' if cell.ms is None else span_text(cell.ms)}</td>"
    if isinstance(cell, int | float) and not isinstance(cell, bool):
        return f'<td class=n data-sort="{cell}">{cell:,}</td>'
    text = "" if cell is None else str(cell)
    is_long = any(len(word) > _LONG_WORD for word in text.split())
    kind = " class=long" if is_long else " class=short" if len(text) <= _LONG_WORD else ""
    return f"<td{kind}>{escape(text)}</td>"
