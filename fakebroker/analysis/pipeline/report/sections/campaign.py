"""What came of a campaign."""

from collections import Counter, defaultdict
from typing import Final

from fakebroker.analysis.pipeline.report.blocks import Block, Cell, Command, Finding, Grid, Number, Plot, Section, Text
from fakebroker.analysis.pipeline.report.charts.bars import Series, ranked_bars
from fakebroker.analysis.pipeline.report.charts.svg import BAD, GOOD, series_class
from fakebroker.analysis.pipeline.report.tables import Tables
from fakebroker.analysis.pipeline.report.words import counted, left_out, percent

KEY: Final = "campaign_runs"
MAX_SCENARIOS: Final = 20
MAX_FAILURES: Final = 25
_OUTCOMES: Final = (("passed", GOOD), ("failed", BAD), ("broken", series_class(5)))

_Counts = dict[str, Counter[str]]


def section(tables: Tables) -> Section:
    """The section."""
    counts: _Counts = defaultdict(Counter)
    for row in tables.rows("SELECT scenario, outcome, COUNT(*) AS runs FROM campaign_runs GROUP BY scenario, outcome"):
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
    series = [Series(colour, outcome, [counts[each][outcome] for each in shown]) for outcome, colour in _OUTCOMES]
    about = "Outcomes of runs, by scenario"
    about += left_out(len(failing) - len(shown), "other scenario", "with failed runs not shown")
    if len(counts) > len(failing):
        about += f"; all runs of {counted(len(counts) - len(failing), 'other scenario')} passed"
    outcomes = [outcome for outcome, _ in _OUTCOMES]
    cells: list[list[Cell]] = [[each, *(counts[each][outcome] for outcome in outcomes)] for each in shown]
    headings = ["scenario", *(f"runs {outcome}" for outcome in outcomes)]
    return Plot(about, ranked_bars(shown, series, "runs", as_shares=True), Grid(about, headings, cells))


def _failures(tables: Tables) -> Block:
    rows = tables.rows(f"SELECT * FROM campaign_failures ORDER BY rank, scenario, signature LIMIT {MAX_FAILURES}")
    if not rows:
        return Text("These tables do not say how the runs failed.")
    left = tables.rows_in("campaign_failures") - len(rows)
    about = "Ways to fail, the most frequent first" + left_out(left, "other")
    cells = [[r["rank"], r["runs"], r["of_runs"], r["failure"], Command(r["repeat"])] for r in rows]
    return Grid(about, ["", "runs failed", "of runs", "message of the first", "repeat it"], cells)
