"""What came of a campaign."""

from collections import Counter, defaultdict
from typing import Final

import pyarrow.compute as pc

from fakebroker.analysis.pipeline.report.blocks import Block, Command, Finding, Grid, Number, Plot, Section, Text
from fakebroker.analysis.pipeline.report.figures import BAD, GOOD, LEGEND_ABOVE, PALETTE, axis, figure, name, names_axis
from fakebroker.analysis.pipeline.report.tables import Tables, ones
from fakebroker.analysis.pipeline.report.words import counted, percent

KEY: Final = "campaign_runs"
MAX_SCENARIOS: Final = 20
MAX_FAILURES: Final = 25
_OUTCOMES: Final = (("passed", GOOD), ("failed", BAD), ("broken", PALETTE[5]))

_Counts = dict[str, Counter[str]]


def section(tables: Tables) -> Section | None:
    """The section; None without the table."""
    if not tables.has(KEY):
        return None
    keys = {"scenario": pc.field("scenario"), "outcome": pc.field("outcome")}
    counts: _Counts = defaultdict(Counter)
    for row in tables.summed(KEY, keys, {"runs": (ones(), "sum")}):
        counts[row["scenario"]][row["outcome"]] += row["runs"]
    total = sum(each.total() for each in counts.values())
    bad = total - sum(each["passed"] for each in counts.values())
    if not total:
        return Section(KEY, "Campaign", [Text("The campaign had no runs.")])
    numbers = [Number("runs failed", f"{bad:,}", f"of {total:,} runs")]
    if not bad:
        text = f"All of {counted(total, 'run')} of {counted(len(counts), 'scenario')} passed."
        return Section(KEY, "Campaign", [Text(text)], numbers)
    blocks: list[Block] = [_plot(counts)]
    if tables.has("campaign_failures"):
        blocks.append(_failures(tables))
    text = f"{counted(bad, 'run')} of the campaign's {total:,} ({percent(bad, total)}) did not pass"
    return Section(KEY, "Campaign", blocks, numbers, [Finding("problem", text, KEY)])


def _plot(counts: _Counts) -> Plot:
    ranked = sorted(counts, key=lambda each: (counts[each]["passed"] / counts[each].total(), each))
    failing = [each for each in ranked if counts[each]["passed"] < counts[each].total()]
    shown = failing[:MAX_SCENARIOS]
    places = list(range(len(shown)))
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "name": outcome,
            "y": places,
            "x": [100 * counts[each][outcome] / counts[each].total() for each in shown],
            "customdata": [f"{counts[each][outcome]:,} of {counts[each].total():,} runs {outcome}" for each in shown],
            "marker": {"color": colour, "line": {"width": 0}},
            "hovertemplate": "%{customdata}<extra></extra>",
        }
        for outcome, colour in _OUTCOMES
    ]
    made = figure(
        traces,
        barmode="stack",
        showlegend=True,
        legend=LEGEND_ABOVE,
        xaxis=axis("runs", ticksuffix=" %", range=[0, 100]),
        yaxis=names_axis(places, [name(each) for each in shown]),
    )
    about = "Outcomes of runs, by scenario"
    if len(failing) > len(shown):
        about += f"; {counted(len(failing) - len(shown), 'other scenario')} with failed runs not shown"
    if len(counts) > len(failing):
        about += f"; all runs of {counted(len(counts) - len(failing), 'other scenario')} passed"
    outcomes = [outcome for outcome, _ in _OUTCOMES]
    grid = Grid(
        about, ["scenario", *outcomes], [[each, *(counts[each][outcome] for outcome in outcomes)] for each in shown]
    )
    return Plot(about, made, 120 + 26 * len(shown), grid)


def _failures(tables: Tables) -> Block:
    columns = ("rank", "scenario", "runs", "of_runs", "failure", "repeat")
    rows = tables.first("campaign_failures", columns, ("rank", "scenario", "signature"), MAX_FAILURES)
    if not rows:
        return Text("These tables do not say how the runs failed.")
    left = tables.rows_in("campaign_failures") - len(rows)
    about = "Ways to fail, the most frequent first" + (f"; {counted(left, 'other')} not shown" if left > 0 else "")
    cells = [[r["rank"], r["runs"], r["of_runs"], r["failure"], Command(r["repeat"])] for r in rows]
    return Grid(about, ["", "runs", "of", "message of the first", "repeat it"], cells)
