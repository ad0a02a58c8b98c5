"""The page about gold tables: its queries run."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fakebroker.analysis.pipeline.tables import all_tables

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "gold-tables.md"
QUERIES = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.S)


@pytest.mark.parametrize("query", QUERIES)
def test_the_queries_of_the_page_run(query: str) -> None:
    """On tables with the columns of the contracts."""
    with closing(sqlite3.connect(":memory:")) as base:
        for table in all_tables():
            base.execute(f"CREATE TABLE {table.name} ({', '.join(f'`{name}`' for name in table.column_names)})")
        assert base.execute(query).fetchall() == []


def test_every_table_of_the_page_has_a_query() -> None:
    """One for each of its sections."""
    assert len(QUERIES) == len(re.findall(r"^## ", PAGE.read_text(), re.M)) == 6
