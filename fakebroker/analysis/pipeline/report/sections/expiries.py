"""Committed offsets that were kept, and those that expired; what the audit says of them."""

from collections import Counter, defaultdict
from typing import Final

from fakebroker.analysis.pipeline.report.blocks import Block, Cell, Finding, Grid, Number, Plot, Section, Text
from fakebroker.analysis.pipeline.report.charts.bars import Series, ranked_bars, time_bars
from fakebroker.analysis.pipeline.report.charts.scales import bin_ms
from fakebroker.analysis.pipeline.report.charts.svg import BAD, GOOD, MAX_SERIES, series_class
from fakebroker.analysis.pipeline.report.tables import Tables
from fakebroker.analysis.pipeline.report.words import counted, left_out, moment_text, percent, span_text, time_text

KEY: Final = "expiries"
MAX_GROUPS: Final = 25
MAX_WRONG: Final = 20

# What the rules of docs/rules say, for a legend.
_RULES: Final = {
    "EX-2": "expire timestamp of the commit",
    "EX-3": "group Empty, or topic not subscribed",
    "EX-5": "committed while the group was Empty",
    "EX-6": "expire timestamp, topic not subscribed",
    "EX-14": "group Empty, or topic not subscribed (KIP-211 as written)",
    "EX-17": "age of the commit (before KIP-211)",
    "EX-18": "group Empty (KIP-211 as first released)",
    "CGO-10": "consumer or streams group: age of the commit",
}


def section(tables: Tables) -> Section | None:
    """The section; None without any of its tables."""
    if not (tables.has(KEY) or tables.has("expiry_audit")):
        return None
    expired = tables.rows_in(KEY) if tables.has(KEY) else 0
    blocks: list[Block] = []
    findings: list[Finding] = []
    if tables.has(KEY):
        blocks.append(_over_time(tables) if expired else Text("No committed offset expired."))
        if expired:
            (found,) = tables.rows("SELECT COUNT(DISTINCT group_id) AS groups FROM expiries")
            text = f"{counted(expired, 'committed offset')} of {counted(found['groups'], 'group')} expired"
            findings.append(Finding("look", text, KEY))
    if tables.has("lag_minute") and tables.rows_in("lag_minute"):
        blocks.append(_kept_and_lost(tables))
    if tables.has("expiry_audit"):
        more, wrong = _audit(tables)
        blocks += more
        findings += wrong
    return Section(KEY, "Expired offsets", blocks, [Number("expired offsets", f"{expired:,}")], findings)


def rule_text(rule: str) -> str:
    """A rule as a legend has it."""
    return f"{rule}: {_RULES[rule]}" if rule in _RULES else rule


def _over_time(tables: Tables) -> Block:
    (span,) = tables.rows("SELECT MIN(expired_at) AS first, MAX(expired_at) AS last FROM expiries")
    width = bin_ms(span["first"], span["last"])
    in_bins = f"SELECT expired_at // {width} * {width} AS bin, rule, COUNT(*) AS offsets FROM expiries GROUP BY ALL"
    counts: dict[str, Counter[int]] = defaultdict(Counter)
    for row in tables.rows(in_bins):
        counts[row["rule"]][row["bin"]] += row["offsets"]
    rules = sorted(counts, key=lambda rule: (-counts[rule].total(), rule))[:MAX_SERIES]
    bins = sorted({each for rule in rules for each in counts[rule]})
    what = "Offsets that expired, by the rule that decided"
    if len(bins) == 1:
        about = f"{what}: all within {span_text(width)} from {moment_text(bins[0], width)} on (UTC)"
        return Grid(about, ["rule", "offsets"], [[rule_text(rule), counts[rule].total()] for rule in rules])
    series = [
        Series(series_class(n), rule_text(rule), [counts[rule][each] for each in bins]) for n, rule in enumerate(rules)
    ]
    what += f", in steps of {span_text(width)}"
    cells: list[list[Cell]] = [[moment_text(each, width), *(counts[r][each] for r in rules)] for each in bins]
    return Plot(what, time_bars(bins, width, series, "offsets"), Grid(what, ["expired (UTC)", *rules], cells))


def _kept_and_lost(tables: Tables) -> Block:
    """Of each group: how many of the offsets that it ever had are kept."""
    groups = tables.rows("""
        WITH partitions AS (
            SELECT
                group_id, MAX(minute_at) AS last,
                MAX(CASE WHEN committed_offset IS NOT NULL THEN minute_at END) AS there
            FROM lag_minute GROUP BY source, group_id, topic, "partition"
        )
        SELECT
            group_id, COUNT(*) FILTER (WHERE there = last) AS kept, COUNT(*) FILTER (WHERE there <> last) AS lost
        FROM partitions WHERE there IS NOT NULL GROUP BY group_id ORDER BY lost DESC, kept DESC, group_id
    """)
    if not groups:
        return Text("No group had a committed offset.")
    hit = [row for row in groups if row["lost"]]
    if not hit:
        return Text(f"All committed offsets of {counted(len(groups), 'group')} were kept.")
    shown = hit[:MAX_GROUPS]
    series = [
        Series(colour, label, [row[kind] for row in shown])
        for kind, label, colour in (("kept", "kept", GOOD), ("lost", "expired or deleted", BAD))
    ]
    about = "Groups that lost committed offsets: how many are kept, and how many expired or were deleted"
    about += left_out(len(hit) - len(shown), "other group", "with as many losses or fewer not shown")
    if len(hit) < len(groups):
        about += f". {counted(len(groups) - len(hit), 'group')} lost none"
    headings = ["group", "offsets kept", "expired or deleted"]
    grid = Grid(about, headings, [[row["group_id"], row["kept"], row["lost"]] for row in shown])
    return Plot(about, ranked_bars([row["group_id"] for row in shown], series, "partitions"), grid)


def _audit(tables: Tables) -> tuple[list[Block], list[Finding]]:
    """Whether what was recorded is what the rules say."""
    (counts,) = tables.rows("SELECT COUNT(*) AS total, COUNT(*) FILTER (WHERE NOT agrees) AS wrong FROM expiry_audit")
    total, wrong = counts["total"], counts["wrong"]
    if not total:
        return [Text("The audit had no offsets to check.")], []
    if not wrong:
        return [Text(f"Audit: all of {counted(total, 'offset')} expired or were kept according to the rules.")], []
    text = f"{counted(wrong, 'offset')} of {total:,} ({percent(wrong, total)}) did not follow the rules of expiry"
    rows = tables.rows(f"""
        SELECT * FROM expiry_audit WHERE NOT agrees ORDER BY group_id, topic, "partition" LIMIT {MAX_WRONG}
    """)
    columns = ("group_id", "topic", "partition", "committed_offset")
    grid = Grid(
        f"{text}; the first of them",
        ["group", "topic", "partition", "offset", "expired (UTC)", "due by the rules (UTC)"],
        [
            [*(row[each] for each in columns), time_text(row["recorded_at"]), time_text(row["recomputed_due_at"])]
            for row in rows
        ],
    )
    return [grid], [Finding("problem", text, KEY)]
