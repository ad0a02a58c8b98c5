"""Published tables as the report reads them: DuckDB sums them up, so that big ones need little memory."""

from collections.abc import Sequence
from pathlib import Path

from fakebroker.analysis.pipeline.contract import Row
from fakebroker.analysis.pipeline.duckdb_engine import DuckEngine
from fakebroker.analysis.pipeline.publish import Published
from fakebroker.analysis.pipeline.recipe import tables_named
from fakebroker.analysis.pipeline.rows import count_rows
from fakebroker.analysis.pipeline.tables import NAMES


class Tables:
    """The tables of some published folders; of a table that several have, the rows of all."""

    def __init__(self, folders: Sequence[Path]) -> None:
        """Raises FakebrokerError for a folder that has no published tables."""
        self.published = [Published(folder) for folder in folders]
        self._engine = DuckEngine()

    def has(self, name: str) -> bool:
        """Whether any folder has the table."""
        return any(each.has(name) for each in self.published)

    def rows_in(self, name: str) -> int:
        """How many rows it has."""
        return sum(count_rows(each.folder_of(name)) for each in self.published if each.has(name))

    def rows(self, query: str) -> list[Row]:
        """The rows of a query, as in a recipe: times are milliseconds. A table that no folder has is empty."""
        read = tables_named(query) & {*NAMES}
        return self._engine.asked(
            query, {name: [each.folder_of(name) for each in self.published if each.has(name)] for name in read}
        )
