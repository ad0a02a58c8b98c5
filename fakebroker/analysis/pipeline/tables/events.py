"""Lines of journals, as they were written."""

from typing import Final

from fakebroker.analysis.pipeline.contract import Column, ColumnType, Table
from fakebroker.analysis.pipeline.recipe import Recipe, listed
from fakebroker.testing.journal.schema import all_columns

_TYPES: Final[dict[str, ColumnType]] = {
    "int": "long",
    "float": "double",
    "string": "string",
    "boolean": "boolean",
    "strings": "strings",
    "json": "string",
}

OF_JOURNALS: Final = "see the journal's schema"

TABLE = Table(
    name="events",
    layer="bronze",
    about="Every line of the journals, once: the columns of the journal's schema, decoded messages as JSON text",
    columns=(
        *(Column(each.name, _TYPES[each.type], OF_JOURNALS, each.is_nullable) for each in all_columns().values()),
        Column("file", "string", "the file it was read from first"),
        Column("line", "long", "the line in that file, counted from 1"),
    ),
    key=("run", "seq", "part"),
)


def recipe() -> Recipe:
    """Of the lines with the same (run, seq, part) the one that is first by file and line. Nearly always there is one."""
    columns = listed(TABLE.column_names)
    repeated = """
        SELECT run AS of_run, seq AS of_seq, part AS of_part, COUNT(*) AS times
        FROM journal_lines
        WHERE reject_reason IS NULL
        GROUP BY run, seq, part
        HAVING COUNT(*) > 1
    """
    lines = f"""
        FROM journal_lines LEFT JOIN ({repeated}) AS repeated ON run = of_run AND seq = of_seq AND part = of_part
        WHERE reject_reason IS NULL
    """
    return Recipe(f"""
        SELECT {columns} {lines} AND times IS NULL
        UNION ALL
        SELECT {columns}
        FROM (
            SELECT *, ROW_NUMBER() OVER (PARTITION BY run, seq, part ORDER BY file, line) AS number
            {lines} AND times IS NOT NULL
        ) AS alike
        WHERE number = 1
    """)
