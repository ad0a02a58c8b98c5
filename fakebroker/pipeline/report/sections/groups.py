"""How groups are doing, a row for each."""

from typing import Final

from fakebroker.pipeline.report.blocks import Finding, Grid, Number, Section, Text
from fakebroker.pipeline.report.tables import Row, Tables
from fakebroker.pipeline.report.words import counted, span_text, time_text

KEY: Final = "group_health"
MOST_ROWS: Final = 100
_COLUMNS: Final = (
    "group_id",
    "group_type",
    "last_state",
    "most_members",
    "rebalances",
    "rebalancing_ms",
    "commits",
    "last_commit_at",
    "most_lag",
    "last_lag",
    "expired_offsets",
    "failed_requests",
)


def section(tables: Tables) -> Section | None:
    """The section; None without the table."""
    if not tables.has(KEY):
        return None
    total = tables.rows_in(KEY)
    if not total:
        return Section(KEY, "Groups", [Text("There was no group.")], [Number("groups", "0")])
    rows = tables.first(KEY, _COLUMNS, ("-rebalances", "-failed_requests", "group_id", "source"), MOST_ROWS)
    about = "Groups, those with the most rebalances first. A click on a heading sorts by it"
    if total > MOST_ROWS:
        about += f"; {counted(total - MOST_ROWS, 'group')} with fewer rebalances not shown"
    headings = [
        "group",
        "type",
        "last state",
        "most members",
        "rebalances",
        "time in them",
        "commits",
        "last commit (UTC)",
        "most lag",
        "last lag",
        "expired offsets",
        "failed requests",
    ]
    grid = Grid(about, headings, [_cells(row) for row in rows])
    return Section(KEY, "Groups", [grid], [Number("groups", f"{total:,}")], _findings(tables))


def _cells(row: Row) -> list[str | int | None]:
    return [
        row["group_id"],
        row["group_type"],
        row["last_state"],
        row["most_members"],
        row["rebalances"],
        None if row["rebalancing_ms"] is None else span_text(row["rebalancing_ms"]),
        row["commits"],
        None if row["last_commit_at"] is None else time_text(row["last_commit_at"]),
        row["most_lag"],
        row["last_lag"],
        row["expired_offsets"],
        row["failed_requests"],
    ]


def _findings(tables: Tables) -> list[Finding]:
    worst = tables.first(KEY, ("group_id", "last_lag"), ("-last_lag", "group_id"), 1)
    if worst and (worst[0]["last_lag"] or 0) > 0:
        behind = counted(worst[0]["last_lag"], "record")
        text = f"group {worst[0]['group_id']} is {behind} behind in the end, more than any other"
        return [Finding("note", text, KEY)]
    return []
