"""The page of the pipeline's tables, from their contracts."""

from collections.abc import Sequence

from fakebroker.analysis.pipeline.contract import Column, Table
from fakebroker.analysis.pipeline.tables import all_tables
from fakebroker.analysis.pipeline.tables.events import OF_JOURNALS

_LAYERS = (
    ("bronze", "as it was read"),
    ("silver", "what happened, one row for each thing"),
    ("gold", "answers"),
)


def tables_page(note: str) -> str:
    """The whole page; `note` says that it is generated."""
    tables = all_tables()
    lines = [
        "# The pipeline's tables",
        note,
        "",
        "Each is a folder of Parquet files (zstd) of that name; `manifest.json` beside them says what is there. How",
        "they are made: [pipeline.md](../how-to/pipeline.md). Timestamps are UTC. Rows from a log say where it stood",
        "there (`log_partition`, `log_offset`), those from a journal which line they were (`seq`, `part`): order by",
        "these, never by time.",
        "",
        "The checks are queries that return nothing if what they say is true; tables are published only then, and",
        "`fakebroker pipeline check` runs them again. Every table has two that are not listed: its key is unique, and",
        "what is not said to be null never is.",
        "",
        *(f"- {layer}: {_links(tables, layer)}" for layer, _ in _LAYERS),
    ]
    for layer, about in _LAYERS:
        lines += ["", f"# {layer.capitalize()}: {about}"]
        for table in tables:
            if table.layer == layer:
                lines += _section(table)
    return "\n".join(lines) + "\n"


def _links(tables: Sequence[Table], layer: str) -> str:
    return ", ".join(f"[{table.name}](#{table.name})" for table in tables if table.layer == layer)


def _section(table: Table) -> list[str]:
    lines = ["", f"## {table.name}", "", f"{table.about}. Key: {', '.join(f'`{name}`' for name in table.key)}.", ""]
    lines += ["| column | type | what it is |", "|---|---|---|"]
    own = [each for each in table.columns if each.about != OF_JOURNALS]
    if len(own) < len(table.columns):
        lines.append("| every column of [the journal's schema](journal-schema.md) | | |")
    lines += [f"| `{each.name}` | {_type(each)} | {each.about} |" for each in own]
    if table.checks:
        lines += ["", *(f"- Check: {check.must}." for check in table.checks)]
    return lines


def _type(column: Column) -> str:
    name = "list of strings" if column.type == "strings" else column.type
    return name + (" or null" if column.is_nullable else "")
