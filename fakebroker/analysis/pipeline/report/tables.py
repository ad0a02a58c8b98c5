"""Published tables as the report reads them: summed up while they are read, so that big ones need little memory."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow import acero

from fakebroker.analysis.pipeline.publish import Published
from fakebroker.analysis.pipeline.rows import arrow_schema, count_rows, from_arrow, parquet_files
from fakebroker.analysis.pipeline.storage_failures import storage_failures_reported
from fakebroker.analysis.pipeline.tables import table

Row = dict[str, Any]
Expression = Any  # of pyarrow, which has no types


class Tables:
    """The tables of some published folders; of a table that several have, the rows of all."""

    def __init__(self, folders: Sequence[Path]) -> None:
        """Raises FakebrokerError for a folder that has no published tables."""
        self.published = [Published(folder) for folder in folders]

    def has(self, name: str) -> bool:
        """Whether any folder has the table."""
        return any(each.has(name) for each in self.published)

    def rows_in(self, name: str) -> int:
        """How many rows it has."""
        return sum(count_rows(each.folder_of(name)) for each in self.published if each.has(name))

    def summed(
        self,
        name: str,
        keys: Mapping[str, Expression],
        measures: Mapping[str, tuple[Expression, str]],
        where: Expression | None = None,
    ) -> list[Row]:
        """Rows of a table grouped by `keys`, with a measure (what, which function of Arrow) for each of `measures`.

        Without keys it is one row. Groups come in the order of their keys, nulls first; times are milliseconds.
        """
        data = self._dataset(name)
        if data is None:
            return []
        steps = [acero.Declaration("scan", acero.ScanNodeOptions(data, filter=where))]
        if where is not None:
            steps.append(acero.Declaration("filter", acero.FilterNodeOptions(where)))
        columns = {**keys, **{each: what for each, (what, _) in measures.items()}}
        steps.append(acero.Declaration("project", acero.ProjectNodeOptions(list(columns.values()), list(columns))))
        prefix = "hash_" if keys else ""
        wanted = [(each, prefix + function, None, each) for each, (_, function) in measures.items()]
        steps.append(acero.Declaration("aggregate", acero.AggregateNodeOptions(wanted, list(keys) if keys else None)))
        # In one thread: approximate medians depend on the order of rows.
        with storage_failures_reported(f"the table {name}"):
            found = acero.Declaration.from_sequence(steps).to_table(use_threads=False)
        return sorted(from_arrow(found), key=lambda row: [_sortable(row[each]) for each in keys])

    def first(
        self, name: str, columns: Sequence[str], order: Sequence[str], most: int, where: Expression | None = None
    ) -> list[Row]:
        """The first rows by the columns of `order` ("-lag": the largest first), `most` of them."""
        data = self._dataset(name)
        if data is None:
            return []
        needed = list(dict.fromkeys([*columns, *(each.lstrip("-") for each in order)]))
        keys = [(each.lstrip("-"), "descending" if each.startswith("-") else "ascending") for each in order]
        best = pa.table({each: [] for each in needed}, schema=pa.schema([data.schema.field(each) for each in needed]))
        for batch in data.to_batches(columns=needed, filter=where):
            both = pa.concat_tables([best, pa.Table.from_batches([batch])])
            best = both.take(pc.sort_indices(both, sort_keys=keys)[:most])
        return [{each: row[each] for each in columns} for row in from_arrow(best)]

    def _dataset(self, name: str) -> ds.Dataset | None:
        files = [str(file) for each in self.published if each.has(name) for file in parquet_files(each.folder_of(name))]
        return ds.dataset(files, format="parquet", schema=arrow_schema(table(name))) if files else None


def _sortable(value: Any) -> tuple[bool, Any]:
    return value is not None, value


def ms_of(column: str) -> Expression:
    """A timestamp as milliseconds since the epoch."""
    return pc.divide(pc.field(column).cast(pa.int64()), 1000)


def ones() -> Expression:
    """1 for each row: its sum is their number."""
    return pc.scalar(1)
