"""The embedded engine: DuckDB in this process, over the same Parquet files. What memory cannot hold goes to disk."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count as numbers
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any, Final, Literal, TypeVar
from weakref import finalize

import pyarrow as pa
import pyarrow.parquet as pq

from fakebroker.analysis.pipeline.contract import FIRST_TIME_MS, LAST_TIME_MS, Column, Table
from fakebroker.analysis.pipeline.dialects import DUCKDB_TYPES
from fakebroker.analysis.pipeline.recipe import (
    NO_VALUES,
    Folders,
    Kept,
    Recipe,
    Step,
    listed,
    tables_named,
    values_named,
)
from fakebroker.analysis.pipeline.rows import Rows, batches_of, parquet_files, rows_of, schema_in_ms, write_rows
from fakebroker.analysis.pipeline.storage_failures import storage_failures_reported
from fakebroker.analysis.pipeline.tables import table
from fakebroker.platform.processes import processors
from fakebroker.scenarios.running.side_by_side import outcomes

T = TypeVar("T")
R = TypeVar("R")

ROWS_FOR_ONE: Final = 100_000  # that a step is given, which one process works on
_PARTS_OF_EACH: Final = 4  # of the rows, for each process: groups are of different sizes
_BATCH_ROWS: Final = 10_000
_SETTINGS: Final = {
    "TimeZone": "UTC",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}


class DuckFrame:
    """Rows that a query gives when it is run. Its times are numbers of milliseconds."""

    def __init__(self, query: str) -> None:
        self.query = query


class DuckEngine:
    """A frame is a query, which is run when its rows are stored."""

    name: Literal["embedded"] = "embedded"

    def __init__(self) -> None:
        import duckdb

        self._database = duckdb.connect()
        self._spill = mkdtemp(prefix="fakebroker-duckdb-")
        finalize(self, rmtree, self._spill, ignore_errors=True)
        for name, value in {**_SETTINGS, "temp_directory": self._spill}.items():
            self._database.execute(f"SET {name} = {_text(value)}")
        self._numbers = numbers()

    def frame(self, contract: Table, rows: Iterable[Mapping[str, Any]]) -> DuckFrame:
        """Rows as a frame; a column that a row does not have is null there."""
        name = f"arrow_{next(self._numbers)}"
        self._database.register(name, pa.Table.from_batches(batches_of(contract, rows), schema_in_ms(contract)))
        return DuckFrame(f"SELECT * FROM {name}")

    def load(self, contract: Table, *folders: Path) -> DuckFrame:
        """A stored table, which may be in several folders. A column that its files do not have is null."""
        files = [file for folder in folders for file in parquet_files(folder)]
        if not files:
            return self.frame(contract, [])
        with storage_failures_reported(str(files[0].parent)):
            there = {name for file in files for name in pq.read_schema(file).names}
        names = ", ".join(_text(_without_patterns(file)) for file in files)
        columns = ", ".join(_in_ms(each) if each.name in there else _null(each) for each in contract.columns)
        return DuckFrame(f"SELECT {columns} FROM read_parquet([{names}], union_by_name = true)")

    def store(self, contract: Table, frame: "DuckFrame | Iterable[Mapping[str, Any]]", folder: Path) -> None:
        """Write a frame, or rows as they come, as Parquet; rows of a frame in the order of the table's key."""
        if not isinstance(frame, DuckFrame):
            write_rows(contract, frame, folder)
            return
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"part-00000-{os.urandom(6).hex()}.parquet"
        columns = ", ".join(map(_as_stored, contract.columns))
        query = f"SELECT {columns} FROM ({frame.query}) ORDER BY {listed(contract.key)}"
        self._run(f"COPY ({query}) TO {_text(str(file))} (FORMAT parquet, COMPRESSION zstd)")

    def rows(self, frame: DuckFrame) -> Rows:
        """The rows of a frame."""
        return list(rows_of(self._batches(frame.query)))

    def made(self, recipe: Recipe, contract: Table, frames: Mapping[str, DuckFrame]) -> DuckFrame:
        """What a recipe makes of frames, by their names."""
        known = {name: frame.query for name, frame in frames.items()}
        for step in recipe.steps:
            made = self._kept(step, known) if isinstance(step, Kept) else self._of_step(step, known)
            known[step.name] = made.query
        columns = ", ".join(map(_as_declared, contract.columns))
        return DuckFrame(f"SELECT {columns} FROM ({_with(known, recipe.query)})")

    def asked(self, query: str, folders: Folders, values: Mapping[str, Any] = NO_VALUES) -> Rows:
        """The rows of a query over stored tables, by their names; `$name` in it is one of the `values`."""
        known = {name: self.load(table(name), *folders[name]).query for name in tables_named(query) & {*folders}}
        return list(rows_of(self._batches(_with(known, query), values_named(query, values))))

    @property
    def tasks_at_once(self) -> int:
        """How many tasks `ran` works on at the same time, at most."""
        return len(processors())

    def ran(self, work: Callable[[T], R], tasks: Sequence[T]) -> list[R]:
        """What `work` makes of each task, which both can be pickled: in other processes if that takes less time."""
        return list(outcomes(work, tasks, has_threads=True))  # those of DuckDB

    def _kept(self, kept: Kept, known: Mapping[str, str]) -> DuckFrame:
        name = f"kept_{next(self._numbers)}"
        self._run(f"CREATE TEMP TABLE {name} AS {_with(known, kept.query)}")
        return DuckFrame(f"SELECT * FROM {name}")

    def _of_step(self, step: Step, known: Mapping[str, str]) -> DuckFrame:
        query = f"SELECT * FROM ({_with(known, step.query)})"
        order = f" ORDER BY {listed((*step.together, *step.order))}" if step.together or step.order else ""
        if not step.together or self.tasks_at_once < 2:
            return self.frame(step.columns, step.made(rows_of(self._batches(query + order))))
        given = f"given_{next(self._numbers)}"
        self._run(f"CREATE TEMP TABLE {given} AS {query}")
        try:
            return self._of_parts(step, given, order)
        finally:
            self._run(f"DROP TABLE {given}")

    def _of_parts(self, step: Step, given: str, order: str) -> DuckFrame:
        """The rows of a step over a table: calls of its function in several processes if there are many rows."""
        query = f"SELECT * FROM {given}"
        ((rows,),) = self._run(f"SELECT COUNT(*) FROM {given}").fetchall()
        if rows <= ROWS_FOR_ONE:
            return self.frame(step.columns, step.made(rows_of(self._batches(query + order))))
        count = _PARTS_OF_EACH * self.tasks_at_once
        part_of = f"hash({listed(step.together)}) % {count}"
        with TemporaryDirectory(prefix="step-", dir=self._spill) as folder:
            files = [f"{folder}/{number}.parquet" for number in range(count)]
            for number, file in enumerate(files):
                of_part = f"{query} WHERE {part_of} = {number}{order}"
                self._run(f"COPY ({of_part}) TO {_text(file)} (FORMAT parquet)")
            made = self.ran(partial(_made_of, step), files)
        name = f"arrow_{next(self._numbers)}"
        self._database.register(name, pa.concat_tables(made))
        return DuckFrame(f"SELECT * FROM {name}")

    def _batches(self, query: str, values: Mapping[str, Any] | None = None) -> Iterator[pa.RecordBatch]:
        with storage_failures_reported():
            yield from self._database.sql(query, params=values or None).to_arrow_reader(_BATCH_ROWS)

    def _run(self, query: str) -> Any:
        with storage_failures_reported():
            return self._database.execute(query)


def _made_of(step: Step, file: str) -> pa.Table:
    """What a step makes of a part of its rows, which are sorted."""
    parquet = pq.ParquetFile(file)
    batches = parquet.iter_batches(_BATCH_ROWS) if parquet.num_row_groups else ()  # pyarrow 18 fails for none
    given = rows_of(batches)
    return pa.Table.from_batches(batches_of(step.columns, step.made(given)), schema_in_ms(step.columns))


def _with(known: Mapping[str, str], query: str) -> str:
    """A query that knows frames by their names."""
    read = {name: each for name, each in known.items() if name in tables_named(query)}
    if not read:
        return query
    views = ", ".join(f"{name} AS ({each})" for name, each in read.items())
    return f"WITH {views} SELECT * FROM ({query})"


def _text(value: str) -> str:
    quoted = value.replace("'", "''")
    return f"'{quoted}'"


def _without_patterns(file: Path) -> str:
    """The name of a file for what takes patterns of names."""
    return re.sub(r"([*?\[])", r"[\1]", str(file))


def _in_ms(column: Column) -> str:
    name = f'"{column.name}"'
    return f"epoch_ms({name}) AS {name}" if column.type == "timestamp" else name


def _null(column: Column) -> str:
    return f'CAST(NULL AS {DUCKDB_TYPES[column.type]}) AS "{column.name}"'


def _as_declared(column: Column) -> str:
    name = f'"{column.name}"'
    value = f"CAST({name} AS {DUCKDB_TYPES[column.type]})"
    if column.type == "timestamp":
        value = f"CASE WHEN {name} BETWEEN {FIRST_TIME_MS} AND {LAST_TIME_MS} THEN {value} END"
    return f"{value} AS {name}"


def _as_stored(column: Column) -> str:
    name = f'"{column.name}"'
    return f"make_timestamptz({name} * 1000) AS {name}" if column.type == "timestamp" else name
