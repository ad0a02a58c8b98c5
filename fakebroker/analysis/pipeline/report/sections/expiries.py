"""Committed offsets that were kept, and those that expired; what the audit says of them."""

from collections import Counter, defaultdict
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from fakebroker.analysis.pipeline.report.blocks import Block, Cell, Finding, Grid, Number, Plot, Section, Text
from fakebroker.analysis.pipeline.report.charts.bars import Series, ranked_bars, time_bars
from fakebroker.analysis.pipeline.report.charts.scales import bin_ms
from fakebroker.analysis.pipeline.report.charts.svg import BAD, GOOD, MAX_SERIES, series_class
from fakebroker.analysis.pipeline.report.tables import Row, Tables, ms_of, ones
from fakebroker.analysis.pipeline.report.words import counted, moment_text, percent, span_text, time_text

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
            groups = tables.summed(KEY, {"group_id": pc.field("group_id")}, {"offsets": (ones(), "sum")})
            text = f"{counted(expired, 'committed offset')} of {counted(len(groups), 'group')} expired"
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
    (span,) = tables.summed(KEY, {}, {"first": (ms_of("expired_at"), "min"), "last": (ms_of("expired_at"), "max")})
    width = bin_ms(span["first"], span["last"])
    keys = {"bin": pc.multiply(pc.divide(ms_of("expired_at"), width), width), "rule": pc.field("rule")}
    counts: dict[str, Counter[int]] = defaultdict(Counter)
    for row in tables.summed(KEY, keys, {"offsets": (ones(), "sum")}):
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
    keys = {each: pc.field(each) for each in ("source", "group_id", "topic", "partition")}
    there = pc.if_else(pc.is_valid(pc.field("committed_offset")), ms_of("minute_at"), pa.scalar(None, pa.int64()))
    rows = tables.summed("lag_minute", keys, {"last": (ms_of("minute_at"), "max"), "there": (there, "max")})
    groups: dict[str, Row] = {}
    for row in rows:
        if row["there"] is not None:
            group = groups.setdefault(row["group_id"], {"kept": 0, "lost": 0})
            group["kept" if row["there"] == row["last"] else "lost"] += 1
    if not groups:
        return Text("No group had a committed offset.")
    hit = [group for group in groups if groups[group]["lost"]]
    if not hit:
        return Text(f"All committed offsets of {counted(len(groups), 'group')} were kept.")
    ranked = sorted(hit, key=lambda group: (-groups[group]["lost"], -groups[group]["kept"], group))
    shown = ranked[:MAX_GROUPS]
    series = [
        Series(colour, label, [groups[each][kind] for each in shown])
        for kind, label, colour in (("kept", "kept", GOOD), ("lost", "expired or deleted", BAD))
    ]
    about = "Groups that lost committed offsets: how many are kept, and how many expired or were deleted"
    if len(hit) > len(shown):
        about += f"; {counted(len(hit) - len(shown), 'other group')} with as many losses or fewer not shown"
    if len(hit) < len(groups):
        about += f". {counted(len(groups) - len(hit), 'group')} lost none"
    headings = ["group", "offsets kept", "expired or deleted"]
    grid = Grid(about, headings, [[each, groups[each]["kept"], groups[each]["lost"]] for each in shown])
    return Plot(about, ranked_bars(shown, series, "partitions"), grid)


def _audit(tables: Tables) -> tuple[list[Block], list[Finding]]:
    """Whether what was recorded is what the rules say."""
    counts = {
        row["agrees"]: row["offsets"]
        for row in tables.summed("expiry_audit", {"agrees": pc.field("agrees")}, {"offsets": (ones(), "sum")})
    }
    total, wrong = sum(counts.values()), counts.get(False, 0)
    if not total:
        return [Text("The audit had no offsets to check.")], []
    if not wrong:
        return [Text(f"Audit: all of {counted(total, 'offset')} expired or were kept according to the rules.")], []
    text = f"{counted(wrong, 'offset')} of {total:,} ({percent(wrong, total)}) did not follow the rules of expiry"
    columns = ("group_id", "topic", "partition", "committed_offset", "recorded_at", "recomputed_due_at")
    rows = tables.first("expiry_audit", columns, ("group_id", "topic", "partition"), MAX_WRONG, ~pc.field("agrees"))
    grid = Grid(
        f"{text}; the first of them",
        ["group", "topic", "partition", "offset", "expired (UTC)", "due by the rules (UTC)"],
        [
            [*(row[each] for each in columns[:4]), time_text(row["recorded_at"]), time_text(row["recomputed_due_at"])]
            for row in rows
        ],
    )
    return [grid], [Finding("problem", text, KEY)]
