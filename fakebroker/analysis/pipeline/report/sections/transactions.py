"""How transactions ended, and the slowest ones."""

from typing import Final

import pyarrow.compute as pc

from fakebroker.analysis.pipeline.report.blocks import Cell, Finding, Grid, Number, Section, Span
from fakebroker.analysis.pipeline.report.tables import Row, Tables, ones
from fakebroker.analysis.pipeline.report.words import counted, time_text

KEY: Final = "transactions"
MAX_ROWS: Final = 20
UNKNOWN: Final = "unknown"

_MEASURES: Final = {
    "transactions": (ones(), "sum"),
    "median_ms": (pc.field("duration_ms"), "approximate_median"),
    "longest_ms": (pc.field("duration_ms"), "max"),
}
_SHOWN: Final = ("transactional_id", "began_at", "duration_ms", "partitions", "outcome", "ended_by", "reason")

_WORTH_A_LOOK: Final = {"timeout": "timed out", "new producer": "ended because a new producer fenced the old one"}


def section(tables: Tables) -> Section | None:
    """The section; None without transactions."""
    ends = tables.summed(KEY, {"outcome": pc.field("outcome"), "ended_by": pc.field("ended_by")}, _MEASURES)
    total = sum(row["transactions"] for row in ends)
    if not total:
        return None
    aborted = sum(row["transactions"] for row in ends if row["outcome"] == "aborted")
    number = Number("transactions", f"{total:,}", f"{aborted:,} aborted")
    return Section(KEY, "Transactions", [_ends(ends), _slowest(tables, total)], [number], _findings(ends))


def _ends(ends: list[Row]) -> Grid:
    ranked = sorted(ends, key=lambda row: (-row["transactions"], row["outcome"], row["ended_by"] or ""))
    rows: list[list[Cell]] = [
        [row["outcome"], _by(row), row["transactions"], Span(row["median_ms"]), Span(row["longest_ms"])]
        for row in ranked
    ]
    headings = ["outcome", "ended by", "transactions", "median duration", "longest"]
    return Grid("How transactions ended, and how long they were open", headings, rows)


def _slowest(tables: Tables, total: int) -> Grid:
    found = tables.first(KEY, _SHOWN, ("-duration_ms", "transactional_id", "began_at"), MAX_ROWS)
    rows: list[list[Cell]] = [
        [
            row["transactional_id"],
            time_text(row["began_at"]),
            Span(row["duration_ms"]),
            row["partitions"],
            row["outcome"],
            _by(row),
            row["reason"],
        ]
        for row in found
    ]
    about = "Transactions, the longest first"
    if total > MAX_ROWS:
        about += f"; {counted(total - MAX_ROWS, 'shorter one')} not shown"
    headings = ["transactional id", "began (UTC)", "duration", "partitions", "outcome", "ended by", "reason"]
    return Grid(about, headings, rows)


def _by(row: Row) -> str | None:
    return None if row["outcome"] == "open" else row["ended_by"] or UNKNOWN


def _findings(ends: list[Row]) -> list[Finding]:
    found = []
    for by, happened in _WORTH_A_LOOK.items():
        if count := sum(row["transactions"] for row in ends if row["ended_by"] == by):
            found.append(Finding("look", f"{counted(count, 'transaction')} {happened}", KEY))
    if count := sum(row["transactions"] for row in ends if row["outcome"] == "open"):
        verb = "has" if count == 1 else "have"
        found.append(Finding("note", f"{counted(count, 'transaction')} {verb} no end in these tables", KEY))
    return found
