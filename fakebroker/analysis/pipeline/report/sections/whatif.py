"""What other retentions would have cost: curves over the retention."""

from collections import defaultdict
from typing import Any, Final

from fakebroker.analysis.pipeline.contract import Row
from fakebroker.analysis.pipeline.report.blocks import Block, Finding, Grid, Number, Plot, Section, Span, Text
from fakebroker.analysis.pipeline.report.charts.bars import Series
from fakebroker.analysis.pipeline.report.charts.curves import curves
from fakebroker.analysis.pipeline.report.charts.svg import MAX_SERIES, OTHERS, series_class
from fakebroker.analysis.pipeline.report.tables import Tables
from fakebroker.analysis.pipeline.report.words import counted, span_text

KEY: Final = "retention_whatif"
MAX_GROUPS: Final = MAX_SERIES - 1
MAX_ROWS: Final = 15

_Curves = dict[str, dict[int, int]]


def section(tables: Tables) -> Section:
    """The section."""
    rows = tables.rows("""
        SELECT
            group_id, retention_ms, CAST(SUM(lost_offsets) AS BIGINT) AS lost_offsets,
            CAST(SUM(reset_offsets) AS BIGINT) AS reset_offsets,
            CAST(SUM(read_again_records) AS BIGINT) AS read_again_records
        FROM retention_whatif GROUP BY group_id, retention_ms ORDER BY group_id, retention_ms
    """)
    title = "Other retentions"
    if not rows:
        return Section(KEY, title, [Text("No group had a committed offset, so no retention would have lost one.")])
    retentions = sorted({row["retention_ms"] for row in rows})
    lost, reset, again = (_by_group(rows, each) for each in ("lost_offsets", "reset_offsets", "read_again_records"))
    if not any(row["lost_offsets"] for row in rows):
        tried = ", ".join(map(span_text, retentions))
        return Section(KEY, title, [Text(f"No retention that was tried would have lost an offset: {tried}.")])
    hit = [group for group in lost if any(lost[group].values())]
    ranked = sorted(hit, key=lambda group: (-sum(lost[group].values()), group))
    blocks: list[Block] = [
        _curves(lost, ranked, retentions, "Committed offsets that would have been lost", "offsets lost"),
        _curves(reset, ranked, retentions, "Of these: losses that affect a group that came back", "losses that matter"),
        _grid(lost, reset, again, retentions),
    ]
    shortest = retentions[0]
    number = Number(
        f"offsets lost with {span_text(shortest)}",
        f"{sum(each.get(shortest, 0) for each in lost.values()):,}",
        "what-if",
    )
    return Section(KEY, title, blocks, [number], _findings(reset, retentions))


def _by_group(rows: list[Row], column: str) -> _Curves:
    found: _Curves = defaultdict(dict)
    for row in rows:
        if row[column] is not None:
            found[row["group_id"]][row["retention_ms"]] = row[column]
    return found


def _curves(values: _Curves, ranked: list[str], retentions: list[int], about: str, unit: str) -> Plot:
    """A curve for each of the first groups, which have the same colours in every plot, and one for all others."""
    shown, others = ranked[:MAX_GROUPS], ranked[MAX_GROUPS:]
    series = [
        Series(series_class(n), group, [values[group].get(each, 0) for each in retentions])
        for n, group in enumerate(shown)
    ]
    if others:
        rest = [sum(values[group].get(each, 0) for group in others) for each in retentions]
        series.append(Series(OTHERS, counted(len(others), "other group"), rest))
    rows: list[list[Any]] = [[Span(each), *(one.values[n] for one in series)] for n, each in enumerate(retentions)]
    grid = Grid(about, ["retention", *(each.label for each in series)], rows)
    return Plot(about, curves(retentions, series, unit, "retention"), grid)


def _grid(lost: _Curves, reset: _Curves, again: _Curves, retentions: list[int]) -> Grid:
    rows: list[list[Any]] = []
    for retention in retentions:
        ranked = sorted(
            lost, key=lambda group: (-reset[group].get(retention, 0), -lost[group].get(retention, 0), group)
        )
        hit = [group for group in ranked if lost[group].get(retention)]
        met = [group for group in hit if reset[group].get(retention)]
        known = [each[retention] for each in again.values() if retention in each]
        rows.append(
            [
                Span(retention),
                sum(each.get(retention, 0) for each in lost.values()),
                len(hit),
                len(met),
                sum(known) if known else None,
                ", ".join(met[:3]) + (", ..." if len(met) > 3 else ""),
            ]
        )
    headings = ["retention", "offsets lost", "groups", "groups that came back", "records read again", "first loss"]
    return Grid(
        "Cost of each retention (records read again with auto.offset.reset=earliest, as far as known)",
        headings,
        rows[:MAX_ROWS],
    )


def _findings(reset: _Curves, retentions: list[int]) -> list[Finding]:
    """The longest retention that would have hurt somebody."""
    for retention in reversed(retentions):
        met = [group for group in sorted(reset) if reset[group].get(retention)]
        if met:
            names = ", ".join(met[:3]) + (", ..." if len(met) > 3 else "")
            who = f"{counted(len(met), 'group')} ({names})"
            text = f"with a retention of {span_text(retention)}, {who} would have come back without committed offsets"
            return [Finding("look", text, KEY)]
    return []
