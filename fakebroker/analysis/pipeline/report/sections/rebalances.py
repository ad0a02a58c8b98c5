"""Rebalances over time, by cause, and the groups that have the most."""

from collections import Counter, defaultdict
from typing import Final

from fakebroker.analysis.pipeline.contract import Row
from fakebroker.analysis.pipeline.report.blocks import Block, Cell, Finding, Grid, Number, Plot, Section, Span, Text
from fakebroker.analysis.pipeline.report.charts.bars import Series, time_bars
from fakebroker.analysis.pipeline.report.charts.scales import bin_ms
from fakebroker.analysis.pipeline.report.charts.svg import MAX_SERIES, OTHERS, series_class
from fakebroker.analysis.pipeline.report.tables import Tables
from fakebroker.analysis.pipeline.report.words import counted, left_out, moment_text, span_text

KEY: Final = "rebalances"
MAX_GROUPS: Final = 15
MANY: Final = 10  # rebalances of one group that are worth a look


def section(tables: Tables) -> Section:
    """The section."""
    by_cause = tables.rows("""
        SELECT cause, COUNT(*) AS number, QUANTILE_DISC(duration_ms, 0.5) AS median_ms, MAX(duration_ms) AS longest_ms
        FROM rebalances GROUP BY cause ORDER BY number DESC, cause
    """)
    total = sum(row["number"] for row in by_cause)
    if not total:
        return Section(KEY, "Rebalances", [Text("No group rebalanced.")], [Number("rebalances", "0")])
    groups = _groups(tables)
    blocks: list[Block] = [_over_time(tables, by_cause), _causes(by_cause), _group_grid(groups)]
    return Section(
        KEY,
        "Rebalances",
        blocks,
        [Number("rebalances", f"{total:,}", f"of {counted(len(groups), 'group')}")],
        _findings(groups),
    )


_BEGAN: Final = "COALESCE(began_at, ended_at)"


def _over_time(tables: Tables, by_cause: list[Row]) -> Block:
    (span,) = tables.rows(f"SELECT MIN({_BEGAN}) AS first, MAX({_BEGAN}) AS last FROM rebalances")
    if span["first"] is None:
        return Text("Their start is unknown.")
    width = bin_ms(span["first"], span["last"])
    rows = tables.rows(f"""
        SELECT {_BEGAN} // {width} * {width} AS bin, cause, COUNT(*) AS number FROM rebalances
        WHERE {_BEGAN} IS NOT NULL GROUP BY ALL
    """)
    ranked = [row["cause"] for row in by_cause]
    shown = ranked if len(ranked) <= MAX_SERIES else ranked[: MAX_SERIES - 1]
    counts: dict[str, Counter[int]] = defaultdict(Counter)
    for row in rows:
        counts[row["cause"] if row["cause"] in shown else "other causes"][row["bin"]] += row["number"]
    names = [*shown, *(["other causes"] if len(shown) < len(ranked) else [])]
    bins = sorted({row["bin"] for row in rows})
    if len(bins) == 1:
        began = counted(sum(row["number"] for row in rows), "rebalance")
        return Text(f"{began} began within {span_text(width)} from {moment_text(bins[0], width)} on (UTC).")
    kinds = [*map(series_class, range(len(shown))), OTHERS]
    series = [
        Series(kind, cause, [counts[cause][each] for each in bins]) for kind, cause in zip(kinds, names, strict=False)
    ]
    what = f"Rebalances by cause, in steps of {span_text(width)}"
    cells: list[list[Cell]] = [[moment_text(each, width), *(counts[c][each] for c in names)] for each in bins]
    return Plot(what, time_bars(bins, width, series, "rebalances"), Grid(what, ["began (UTC)", *names], cells))


def _causes(by_cause: list[Row]) -> Grid:
    rows = [[row["cause"], row["number"], Span(row["median_ms"]), Span(row["longest_ms"])] for row in by_cause]
    headings = ["cause", "rebalances", "median duration", "longest"]
    return Grid("Causes of rebalances, and their durations", headings, rows)


def _groups(tables: Tables) -> list[Row]:
    """The groups, the one with the most rebalances first, each with its most frequent cause."""
    return tables.rows("""
        SELECT
            group_id, CAST(SUM(times) AS BIGINT) AS number, FIRST(cause ORDER BY times DESC, cause) AS cause,
            CAST(SUM(of_cause_ms) AS BIGINT) AS total_ms, MAX(most_ms) AS longest_ms,
            CAST(SUM(open) AS BIGINT) AS unfinished
        FROM (
            SELECT
                group_id, cause, COUNT(*) AS times, SUM(duration_ms) AS of_cause_ms, MAX(duration_ms) AS most_ms,
                COUNT(*) FILTER (WHERE result = 'unfinished') AS open
            FROM rebalances GROUP BY group_id, cause
        ) GROUP BY group_id ORDER BY number DESC, group_id
    """)


def _group_grid(groups: list[Row]) -> Grid:
    rows = [
        [g["group_id"], g["number"], g["cause"], Span(g["total_ms"]), Span(g["longest_ms"])]
        for g in groups[:MAX_GROUPS]
    ]
    more = left_out(len(groups) - MAX_GROUPS, "other group", "had as many or fewer")
    about = f"Groups with the most rebalances{more}"
    return Grid(about, ["group", "rebalances", "most frequent cause", "time in rebalances", "longest"], rows)


def _findings(groups: list[Row]) -> list[Finding]:
    found = []
    worst = groups[0]
    if worst["number"] >= MANY:
        times = f"group {worst['group_id']} rebalanced {worst['number']:,} times"
        found.append(Finding("look", f"{times}, most often because of: {worst['cause']}", KEY))
    unfinished = sum(group["unfinished"] for group in groups)
    if unfinished:
        verb = "has" if unfinished == 1 else "have"
        found.append(Finding("look", f"{counted(unfinished, 'rebalance')} {verb} no end in these tables", KEY))
    return found
