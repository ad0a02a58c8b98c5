"""Rebalances over time, by cause, and the groups that have the most."""

from collections import Counter, defaultdict
from typing import Final

import pyarrow.compute as pc

from fakebroker.analysis.pipeline.report.blocks import Block, Cell, Finding, Grid, Number, Plot, Section, Span, Text
from fakebroker.analysis.pipeline.report.charts.bars import Series, time_bars
from fakebroker.analysis.pipeline.report.charts.scales import bin_ms
from fakebroker.analysis.pipeline.report.charts.svg import MAX_SERIES, OTHERS, series_class
from fakebroker.analysis.pipeline.report.tables import Row, Tables, ms_of, ones
from fakebroker.analysis.pipeline.report.words import counted, moment_text, span_text

KEY: Final = "rebalances"
MAX_GROUPS: Final = 15
MANY: Final = 10  # rebalances of one group that are worth a look


def section(tables: Tables) -> Section | None:
    """The section; None without the table."""
    if not tables.has(KEY):
        return None
    by_cause = tables.summed(KEY, {"cause": pc.field("cause")}, _MEASURES)
    total = sum(row["rebalances"] for row in by_cause)
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


_MEASURES: Final = {
    "rebalances": (ones(), "sum"),
    "median_ms": (pc.field("duration_ms"), "approximate_median"),
    "longest_ms": (pc.field("duration_ms"), "max"),
    "total_ms": (pc.field("duration_ms"), "sum"),
}


def _began_ms() -> pc.Expression:
    return pc.coalesce(ms_of("began_at"), ms_of("ended_at"))


def _over_time(tables: Tables, by_cause: list[Row]) -> Block:
    (span,) = tables.summed(KEY, {}, {"first": (_began_ms(), "min"), "last": (_began_ms(), "max")})
    if span["first"] is None:
        return Text("Their start is unknown.")
    width = bin_ms(span["first"], span["last"])
    rows = tables.summed(
        KEY,
        {"bin": pc.multiply(pc.divide(_began_ms(), width), width), "cause": pc.field("cause")},
        {"rebalances": (ones(), "sum")},
        pc.is_valid(_began_ms()),
    )
    ranked = [row["cause"] for row in sorted(by_cause, key=lambda row: (-row["rebalances"], row["cause"]))]
    shown = ranked if len(ranked) <= MAX_SERIES else ranked[: MAX_SERIES - 1]
    counts: dict[str, Counter[int]] = defaultdict(Counter)
    for row in rows:
        counts[row["cause"] if row["cause"] in shown else "other causes"][row["bin"]] += row["rebalances"]
    names = [*shown, *(["other causes"] if len(shown) < len(ranked) else [])]
    bins = sorted({row["bin"] for row in rows})
    if len(bins) == 1:
        began = counted(sum(row["rebalances"] for row in rows), "rebalance")
        return Text(f"{began} began within {span_text(width)} from {moment_text(bins[0], width)} on (UTC).")
    kinds = [*map(series_class, range(len(shown))), OTHERS]
    series = [
        Series(kind, cause, [counts[cause][each] for each in bins]) for kind, cause in zip(kinds, names, strict=False)
    ]
    what = f"Rebalances by cause, in steps of {span_text(width)}"
    cells: list[list[Cell]] = [[moment_text(each, width), *(counts[c][each] for c in names)] for each in bins]
    return Plot(what, time_bars(bins, width, series, "rebalances"), Grid(what, ["began (UTC)", *names], cells))


def _causes(by_cause: list[Row]) -> Grid:
    ranked = sorted(by_cause, key=lambda row: (-row["rebalances"], row["cause"]))
    rows = [[row["cause"], row["rebalances"], Span(row["median_ms"]), Span(row["longest_ms"])] for row in ranked]
    headings = ["cause", "rebalances", "median duration", "longest"]
    return Grid("Causes of rebalances, and their durations", headings, rows)


def _groups(tables: Tables) -> list[Row]:
    """The groups, the one with the most rebalances first, each with its most frequent cause."""
    keys = {"group_id": pc.field("group_id"), "cause": pc.field("cause")}
    unfinished = pc.if_else(pc.field("result") == "unfinished", 1, 0)
    rows = tables.summed(KEY, keys, {**_MEASURES, "unfinished": (unfinished, "sum")})
    found: dict[str, Row] = {}
    for row in rows:
        group = found.setdefault(
            row["group_id"], {**row, "rebalances": 0, "total_ms": None, "unfinished": 0, "most": 0}
        )
        group["rebalances"] += row["rebalances"]
        group["unfinished"] += row["unfinished"]
        for name, sum_of in (("total_ms", sum), ("longest_ms", max)):
            known = [each for each in (group[name], row[name]) if each is not None]
            group[name] = sum_of(known) if known else None
        if row["rebalances"] > group["most"]:
            group["most"], group["cause"] = row["rebalances"], row["cause"]
    return sorted(found.values(), key=lambda group: (-group["rebalances"], group["group_id"]))


def _group_grid(groups: list[Row]) -> Grid:
    rows = [
        [g["group_id"], g["rebalances"], g["cause"], Span(g["total_ms"]), Span(g["longest_ms"])]
        for g in groups[:MAX_GROUPS]
    ]
    more = len(groups) - MAX_GROUPS
    about = "Groups with the most rebalances" + (
        f"; {counted(more, 'other group')} had as many or fewer" if more > 0 else ""
    )
    return Grid(about, ["group", "rebalances", "most frequent cause", "time in rebalances", "longest"], rows)


def _findings(groups: list[Row]) -> list[Finding]:
    found = []
    worst = groups[0]
    if worst["rebalances"] >= MANY:
        times = f"group {worst['group_id']} rebalanced {worst['rebalances']:,} times"
        found.append(Finding("look", f"{times}, most often because of: {worst['cause']}", KEY))
    unfinished = sum(group["unfinished"] for group in groups)
    if unfinished:
        verb = "has" if unfinished == 1 else "have"
        found.append(Finding("look", f"{counted(unfinished, 'rebalance')} {verb} no end in these tables", KEY))
    return found
