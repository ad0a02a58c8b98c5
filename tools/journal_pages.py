"""The pages about the journal's schema: for people, and as JSON Schema."""

import json

from fakebroker.testing.exchanges.columns import Column
from fakebroker.testing.exchanges.meanings import MEANINGS
from fakebroker.testing.journal.schema import COMMON, KINDS, SCHEMA_VERSION, json_schema, spark_ddl

_TYPES = {
    "int": "integer", "float": "number", "string": "string", "boolean": "boolean", "strings": "list of strings",
    "ints": "list of integers", "object": "object", "json": "any JSON",
}  # fmt: skip


def journal_schema_page(note: str) -> str:
    """The whole page; `note` says that it is generated."""
    lines = [
        "# The journal's schema",
        note,
        "",
        "A line of a journal file ([how to get one](../how-to/journal.md)) is a JSON object of one of the kinds below.",
        f"This is version {SCHEMA_VERSION}; as JSON Schema it is [journal.schema.json](journal.schema.json). Columns",
        "may be added within a version: ignore those you do not know. A column has one type and one meaning in",
        "all kinds. Integers may need 64 bits.",
        "",
        "## Every line",
        "",
        *table(COMMON),
        "",
        "One entry of the journal may be several lines: a request that commits two offsets is a `request` and two",
        "`offset_committed`. (`run`, `seq`, `part`) is unique: a line that comes twice may be dropped by it.",
        "",
        "Secrets are replaced by `(redacted)`: values of settings of type password and of unknown settings,",
        "authentication bytes, tokens. Records are shown by size and number. Bytes are",
        '`{"hex": ...}`; long ones are cut, and `bytes` says how many there were.',
    ]
    for kind in KINDS.values():
        lines += ["", f"## {kind.name}", "", kind.about, "", *table(kind.columns)]
    lines += [
        "",
        "## With Spark",
        "",
        "Inference is a pass of its own and drifts; this reads every kind, decoded messages as their JSON text:",
        "",
        "```sql",
        spark_ddl().replace(", `", ",\n`"),
        "```",
    ]
    return "\n".join(lines) + "\n"


def json_schema_file() -> str:
    """The JSON Schema as it is stored."""
    return json.dumps(json_schema(), indent=2) + "\n"


def table(columns: tuple[Column, ...]) -> list[str]:
    """The columns of a kind of line; those that a line may lack are marked as optional."""
    if not columns:
        return ["It has no columns of its own."]
    lines = ["| column | type | what it is |", "|---|---|---|"]
    for column in columns:
        kind = _TYPES[column.type] + (" or null" if column.is_nullable else "")
        kind += "" if column.is_required else ", optional"
        lines.append(f"| `{column.name}` | {kind} | {MEANINGS.get(column.name, '')} |")
    return lines
