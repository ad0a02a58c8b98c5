"""The page of the pipeline's tables, from their contracts."""

from fakebroker.analysis.pipeline.contract import Column, Table
from fakebroker.analysis.pipeline.tables import all_tables

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
        "| table | layer | what it is |",
        "|---|---|---|",
        *(f"| [{table.name}](#{table.name}) | {table.layer} | {table.about} |" for table in tables),
    ]
    for layer, about in _LAYERS:
        lines += ["", f"# {layer.capitalize()}: {about}"]
        for table in tables:
            if table.layer == layer:
                lines += _section(table)
    return "\n".join(lines) + "\n"


def _section(table: Table) -> list[str]:
    lines = ["", f"## {table.name}", "", f"{table.about}. Key: {', '.join(f'`{name}`' for name in table.key)}.", ""]
    lines += ["| column | type | what it is |", "|---|---|---|"]
    lines += [f"| `{each.name}` | {_type(each)} | {each.about} |" for each in table.columns]
    if table.checks:
        lines += ["", *(f"- Check: {check.must}." for check in table.checks)]
    return lines


def _type(column: Column) -> str:
    name = "list of strings" if column.type == "strings" else column.type
    return name + (" or null" if column.is_nullable else "")
