"""Lag of groups over time."""

from typing import Final

from fakebroker.analysis.pipeline.contract import Row
from fakebroker.analysis.pipeline.report.blocks import Block, Grid, Plot, Section, Text
from fakebroker.analysis.pipeline.report.charts.heat_map import Cell, heat_map
from fakebroker.analysis.pipeline.report.charts.scales import bin_ms, time_ticks
from fakebroker.analysis.pipeline.report.tables import Tables
from fakebroker.analysis.pipeline.report.words import counted, moment_text, span_text

KEY: Final = "lag_minute"
MAX_GROUPS: Final = 30
_MINUTE_MS: Final = 60_000
_GROUPS: Final = """
    SELECT group_id, MAX(lag) AS most, MIN(minute_at) AS first, MAX(minute_at) AS last FROM lag_minute
    WHERE lag IS NOT NULL GROUP BY group_id ORDER BY most DESC, group_id
"""


def section(tables: Tables) -> Section:
    """The section."""
    groups = tables.rows(_GROUPS)
    if not groups:
        text = "Lag is unknown: these tables have no minute with both a committed offset and a log end."
        return Section(KEY, "Lag", [Text(text)])
    return Section(KEY, "Lag", [_plot(tables, groups)])


def _plot(tables: Tables, ranked: list[Row]) -> Block:
    shown = [row["group_id"] for row in ranked[:MAX_GROUPS]]
    first, last = min(row["first"] for row in ranked), max(row["last"] for row in ranked)
    width = max(bin_ms(first, last), _MINUTE_MS)
    rows = tables.rows(f"""
        SELECT group_id, minute_at // {width} * {width} AS bin, MAX(lag) AS lag FROM lag_minute
        WHERE lag IS NOT NULL AND group_id IN (SELECT group_id FROM ({_GROUPS} LIMIT {MAX_GROUPS}))
        GROUP BY ALL
    """)
    lags = {(row["group_id"], row["bin"]): row["lag"] for row in rows}
    bins = list(range(first // width * width, last + 1, width))
    cells = [[_cell(group, each, lags.get((group, each))) for each in bins] for group in shown]
    about = "Lag of each group in records, in its most lagging partition"
    if len(bins) > 1:
        about += f", in steps of {span_text(width)}. No colour: no activity"
    if len(ranked) > len(shown):
        left, most = len(ranked) - len(shown), ranked[len(shown)]["most"]
        about += f". {counted(left, 'other group')} {'was' if left == 1 else 'were'} never more than {most:,} behind"
    headings = ["group", "max lag (records)", "from (UTC)", "to (UTC)"]
    grid_rows = [
        [row["group_id"], row["most"], *(moment_text(row[each], _MINUTE_MS) for each in ("first", "last"))]
        for row in ranked[:MAX_GROUPS]
    ]
    if len(bins) == 1:
        return Grid(about, headings, grid_rows)
    ticks = [
        ((tick.ms - bins[0]) / width, (tick.text, tick.date) if tick.date else (tick.text,))
        for tick in time_ticks(bins[0], bins[-1] + width)
    ]
    return Plot(about, heat_map(shown, cells, ticks, "records behind"), Grid("Consumer lag", headings, grid_rows))


def _cell(group: str, bin_start_ms: int, lag: int | None) -> Cell | None:
    if lag is None:
        return None
    return Cell(lag, f"{group}, {moment_text(bin_start_ms, _MINUTE_MS)}: {lag:,} records behind")
