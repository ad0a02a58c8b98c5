"""How groups are doing, a row for each."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from fakebroker.analysis.pipeline.recipe import listed
from fakebroker.analysis.pipeline.report.blocks import Cell, Finding, Grid, Number, Section, Span, Text
from fakebroker.analysis.pipeline.report.tables import Tables
from fakebroker.analysis.pipeline.report.words import counted, left_out, moment_text

KEY: Final = "group_health"
MAX_ROWS: Final = 100


class _Column(NamedTuple):
    """A column of the grid: what it is of, what stands over it, and how its values are shown."""

    name: str
    heading: str
    shown: Callable[[Any], Cell] = lambda value: value


def _minute(at_ms: int | None) -> str | None:
    return None if at_ms is None else moment_text(at_ms, 60_000)


_COLUMNS: Final = (
    _Column("group_id", "group"),
    _Column("source", "source"),
    _Column("group_type", "type"),
    _Column("last_state", "last state"),
    _Column("most_members", "max members"),
    _Column("rebalances", "rebalances"),
    _Column("rebalancing_ms", "time in rebalances", Span),
    _Column("commits", "commits"),
    _Column("last_commit_at", "last commit (UTC)", _minute),
    _Column("most_lag", "max lag (records)"),
    _Column("last_lag", "last lag (records)"),
    _Column("expired_offsets", "expired offsets"),
    _Column("failed_requests", "failed requests"),
)


def section(tables: Tables) -> Section:
    """The section."""
    total = tables.rows_in(KEY)
    if not total:
        return Section(KEY, "Groups", [Text("There were no groups.")], [Number("groups", "0")])
    rows = tables.rows(f"""
        SELECT {listed(each.name for each in _COLUMNS)} FROM group_health
        ORDER BY rebalances DESC, failed_requests DESC, group_id, source LIMIT {MAX_ROWS}
    """)
    about = "Groups, most rebalances first. Click a heading to sort"
    about += left_out(total - MAX_ROWS, "group", "with as many rebalances or fewer not shown")
    sources = {row["source"] for row in rows}
    shown = [each for each in _COLUMNS if each.name != "source" or len(sources) > 1]
    cells = [[each.shown(row[each.name]) for each in shown] for row in rows]
    grid = Grid(about, [each.heading for each in shown], cells)
    return Section(KEY, "Groups", [grid], [Number("groups", f"{total:,}")], _findings(tables))


def _findings(tables: Tables) -> list[Finding]:
    worst = tables.rows(
        "SELECT group_id, last_lag FROM group_health WHERE last_lag > 0 ORDER BY last_lag DESC, group_id LIMIT 1"
    )
    text = "group {} ends with the largest lag, {}"
    return [Finding("note", text.format(row["group_id"], counted(row["last_lag"], "record")), KEY) for row in worst]
