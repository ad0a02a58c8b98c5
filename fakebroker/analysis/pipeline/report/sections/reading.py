"""What the report is made of: tables, their checks, and what could not be read."""

import re
from typing import Any, Final

from fakebroker.analysis.pipeline.report.blocks import Block, Finding, Grid, Number, Section, Text
from fakebroker.analysis.pipeline.report.tables import Tables
from fakebroker.analysis.pipeline.report.words import counted, left_out
from fakebroker.analysis.pipeline.tables import NAMES, table

KEY: Final = "tables"
MAX_REASONS: Final = 20


def section(tables: Tables) -> Section:
    """The section, which is always there."""
    blocks: list[Block] = [_checks(tables)]
    numbers: list[Number] = []
    findings: list[Finding] = []
    if tables.has("rejects"):
        rejected = tables.rows_in("rejects")
        blocks.append(_rejects(tables) if rejected else Text("Everything was read."))
        numbers.append(Number("rejected", f"{rejected:,}", "lines and records"))
        if rejected:
            what = counted(rejected, "line or record", "lines or records")
            missing = f"could not be read and {'is' if rejected == 1 else 'are'} missing from the tables"
            findings.append(Finding("look", f"{what} {missing}", KEY))
    blocks.append(_tables(tables))
    return Section(KEY, "Tables, checks and rejects", blocks, numbers, findings)


def _checks(tables: Tables) -> Block:
    """How many checks the tables passed: those that do not are not published."""
    manifests: list[dict[str, Any]] = [each.manifest for each in tables.published]
    checks = [each.get("checks") or {} for each in manifests]
    run, left_out = (sum(each.get(name, 0) for each in checks) for name in ("run", "left_out"))
    text = f"{counted(run, 'check')} passed when the tables were published"
    if left_out:
        text += f"; {left_out:,} were skipped because a table is missing"
    return Text(f"{text}.")


def _rejects(tables: Tables) -> Grid:
    ranked = tables.rows("""
        SELECT reason, COUNT(*) AS rejected, MIN(file) AS file FROM rejects
        GROUP BY reason ORDER BY rejected DESC, reason
    """)
    left = len(ranked) - MAX_REASONS
    about = "What could not be read, by reason" + left_out(left, "other reason")
    cells = [[row["reason"], row["rejected"], row["file"]] for row in ranked[:MAX_REASONS]]
    return Grid(about, ["reason", "rejected", "for example in"], cells)


def _tables(tables: Tables) -> Grid:
    rows = [
        [name, table(name).layer, tables.rows_in(name), _plain(table(name).about)] for name in NAMES if tables.has(name)
    ]
    return Grid("Source tables", ["table", "layer", "rows", "contents"], rows)


def _plain(text: str) -> str:
    """A text of a contract without its Markdown: code, and links to pages that are not here."""
    return re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", text).replace("`", "")
