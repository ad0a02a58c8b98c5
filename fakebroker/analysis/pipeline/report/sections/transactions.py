"""How transactions ended, and the slowest ones."""

from typing import Final

from fakebroker.analysis.pipeline.contract import Row
from fakebroker.analysis.pipeline.report.blocks import Cell, Finding, Grid, Number, Section, Span
from fakebroker.analysis.pipeline.report.tables import Tables
from fakebroker.analysis.pipeline.report.words import counted, left_out, time_text

KEY: Final = "transactions"
MAX_ROWS: Final = 20
UNKNOWN: Final = "unknown"

_ENDS: Final = """
    SELECT
        outcome, ended_by, COUNT(*) AS number, QUANTILE_DISC(duration_ms, 0.5) AS median_ms,
        MAX(duration_ms) AS longest_ms
    FROM transactions GROUP BY outcome, ended_by ORDER BY number DESC, outcome, COALESCE(ended_by, '')
"""
_WORTH_A_LOOK: Final = {"timeout": "timed out", "new producer": "ended because a new producer fenced the old one"}


def section(tables: Tables) -> Section | None:
    """The section; None without transactions."""
    ends = tables.rows(_ENDS)
    total = sum(row["number"] for row in ends)
    if not total:
        return None
    aborted = sum(row["number"] for row in ends if row["outcome"] == "aborted")
    number = Number("transactions", f"{total:,}", f"{aborted:,} aborted")
    return Section(KEY, "Transactions", [_ends(ends), _slowest(tables, total)], [number], _findings(ends))


def _ends(ends: list[Row]) -> Grid:
    rows: list[list[Cell]] = [
        [row["outcome"], _by(row), row["number"], Span(row["median_ms"]), Span(row["longest_ms"])] for row in ends
    ]
    headings = ["outcome", "ended by", "transactions", "median duration", "longest"]
    return Grid("How transactions ended, and how long they were open", headings, rows)


def _slowest(tables: Tables, total: int) -> Grid:
    found = tables.rows(f"""
        SELECT transactional_id, began_at, duration_ms, partitions, outcome, ended_by, reason
        FROM transactions ORDER BY duration_ms DESC, transactional_id, began_at LIMIT {MAX_ROWS}
    """)
    rows: list[list[Cell]] = [
        [
            *(row["transactional_id"], time_text(row["began_at"]), Span(row["duration_ms"]), row["partitions"]),
            *(row["outcome"], _by(row), row["reason"]),
        ]
        for row in found
    ]
    about = "Transactions, the longest first" + left_out(total - MAX_ROWS, "shorter one")
    headings = ["transactional id", "began (UTC)", "duration", "partitions", "outcome", "ended by", "reason"]
    return Grid(about, headings, rows)


def _by(row: Row) -> str | None:
    return None if row["outcome"] == "open" else row["ended_by"] or UNKNOWN


def _findings(ends: list[Row]) -> list[Finding]:
    found = []
    for by, happened in _WORTH_A_LOOK.items():
        if count := sum(row["number"] for row in ends if row["ended_by"] == by):
            found.append(Finding("look", f"{counted(count, 'transaction')} {happened}", KEY))
    if count := sum(row["number"] for row in ends if row["outcome"] == "open"):
        verb = "has" if count == 1 else "have"
        found.append(Finding("note", f"{counted(count, 'transaction')} {verb} no end in these tables", KEY))
    return found
