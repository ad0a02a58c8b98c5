"""The two engines that make tables: Spark, and plain Python for small inputs. They give the same answers.

A frame is what an engine works with: a DataFrame, or a list of rows.
"""

import inspect
import json
import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from fakebroker.analysis.pipeline.contract import Check, Table
from fakebroker.analysis.pipeline.rows import Rows, parquet_files, read_rows, write_rows
from fakebroker.analysis.pipeline.spark_failures import not_shared
from fakebroker.analysis.pipeline.tables import NAMES, table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Frame = Any
MAX_SHOWN: Final = 5  # rows of a check that fails


class Engine(Protocol):
    """What makes, stores and checks tables."""

    name: str

    def frame(self, contract: Table, rows: Rows) -> Frame:
        """Rows as a frame."""

    def load(self, contract: Table, folder: Path) -> Frame:
        """A stored table; an empty frame if it is not there."""

    def store(self, contract: Table, frame: Frame, folder: Path) -> None:
        """Write a frame as Parquet files into `folder`, which is not there yet."""

    def union(self, frames: Sequence[Frame]) -> Frame:
        """The rows of several frames of one table."""

    def only_new(self, contract: Table, frame: Frame, known: Frame) -> Frame:
        """The rows of `frame` whose key no row of `known` has."""

    def where_there(self, frame: Frame, column: str) -> Frame:
        """The rows in which a column is not null."""

    def failing_rows(self, check: Check, folders: Mapping[str, Path]) -> Rows:
        """The first rows that a check returns, over stored tables: none if what it says is true."""


def transformation(engine: Engine, name: str) -> Callable[..., Frame]:
    """The function that makes a table with an engine."""
    package = "spark" if engine.name == "spark" else "oracle"
    found: Callable[..., Frame] = getattr(import_module(f"fakebroker.analysis.pipeline.{package}.{name}"), name)
    return found


def tables_needed(engine: Engine, name: str) -> tuple[str, ...]:
    """The tables that the transformation of that name reads: its positional parameters."""
    parameters = inspect.signature(transformation(engine, name)).parameters.values()
    return tuple(each.name for each in parameters if each.kind is not each.KEYWORD_ONLY)


def make(engine: Engine, name: str, frames: Mapping[str, Frame], options: Any = None) -> Frame:
    """Make a table of the frames it needs; those that are not given are empty."""
    needed = [
        frames[each] if each in frames else engine.frame(contract_of(each), []) for each in tables_needed(engine, name)
    ]
    return transformation(engine, name)(*needed, **({} if options is None else {"options": options}))


def contract_of(name: str) -> Table:
    """The contract of a table or of what tables are made from."""
    if name == "live_ends":
        return table("log_ends")
    return table(name)


def tables_in(query: str) -> list[str]:
    """The tables that a query reads. Columns may have names of tables, too: group_health has `commits`."""
    read = set(re.findall(r"\b(?:FROM|JOIN) (\w+)", query))
    return [name for name in NAMES if name in read]


def columns_in(query: str, contract: Table) -> list[str]:
    """The columns of a table that a query names, at least one: rows can be counted by it."""
    words = set(re.findall(r"\w+", query))
    return [name for name in contract.column_names if name in words] or [contract.column_names[0]]


class PythonEngine:
    """Lists of rows in memory; checks run in SQLite. For inputs that fit."""

    name = "python"

    def frame(self, contract: Table, rows: Rows) -> Rows:  # noqa: ARG002 - Spark needs the contract
        """Rows as they are."""
        return rows

    def load(self, contract: Table, folder: Path) -> Rows:
        """The rows of a stored table."""
        return read_rows(contract, folder)

    def store(self, contract: Table, frame: Rows, folder: Path) -> None:
        """Write rows."""
        write_rows(contract, frame, folder)

    def union(self, frames: Sequence[Rows]) -> Rows:
        """All rows."""
        return [row for frame in frames for row in frame]

    def only_new(self, contract: Table, frame: Rows, known: Rows) -> Rows:
        """The rows whose key is new."""
        keys = {tuple(row[name] for name in contract.key) for row in known}
        return [row for row in frame if tuple(row[name] for name in contract.key) not in keys]

    def where_there(self, frame: Rows, column: str) -> Rows:
        """The rows that have a value there."""
        return [row for row in frame if row[column] is not None]

    def failing_rows(self, check: Check, folders: Mapping[str, Path]) -> Rows:
        """Ask SQLite, over the columns that the query names; over whole rows only to show those that are wrong."""
        contracts = [table(name) for name in tables_in(check.query)]
        if not self._found(check, {each.name: columns_in(check.query, each) for each in contracts}, folders):
            return []
        return self._found(check, {each.name: each.column_names for each in contracts}, folders)

    def _found(self, check: Check, columns: Mapping[str, Sequence[str]], folders: Mapping[str, Path]) -> Rows:
        with closing(sqlite3.connect(":memory:")) as database:
            database.row_factory = sqlite3.Row
            for name, of_table in columns.items():
                names = ", ".join(f"`{column}`" for column in of_table)
                database.execute(f"CREATE TABLE {name} ({names})")
                marks = ", ".join("?" for _ in of_table)
                rows = read_rows(table(name), folders[name], columns=of_table)
                values = ([_in_sqlite(row[column]) for column in of_table] for row in rows)
                database.executemany(f"INSERT INTO {name} VALUES ({marks})", values)
            return [dict(row) for row in database.execute(check.query).fetchmany(MAX_SHOWN)]


def _in_sqlite(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, list) else value


class SparkEngine:
    """DataFrames of a Spark session."""

    name = "spark"

    def __init__(self, session: "SparkSession") -> None:
        self.session = session

    def frame(self, contract: Table, rows: Rows) -> Frame:
        """Rows as a DataFrame with the contract's columns.

        Made of Arrow also without rows: of other empty DataFrames Spark does not know beforehand that they are empty,
        and works on all that is made of them.
        """
        from fakebroker.analysis.pipeline.rows import to_arrow

        return self.session.createDataFrame(to_arrow(contract, rows))

    def load(self, contract: Table, folder: Path) -> Frame:
        """A stored table as a DataFrame."""
        if not parquet_files(folder):
            return self.frame(contract, [])
        return self.session.read.schema(contract.spark_ddl).parquet(str(folder))

    def store(self, contract: Table, frame: Frame, folder: Path) -> None:
        """Write a DataFrame; what Spark writes beside the Parquet files goes.

        Raises SparkFailure if the files are not here: workers on other machines wrote them to their own disks. Of a
        DataFrame without rows Spark writes a file, too.
        """
        frame.select(*contract.column_names).write.parquet(str(folder))
        self.session.catalog.clearCache()  # what the transformation kept for its own use
        for each in folder.iterdir():
            if each.suffix != ".parquet":
                each.unlink()
        if not parquet_files(folder):
            raise not_shared(folder)

    def union(self, frames: Sequence[Frame]) -> Frame:
        """The rows of all, columns matched by their names."""
        first, *others = frames
        for each in others:
            first = first.unionByName(each)
        return first

    def only_new(self, contract: Table, frame: Frame, known: Frame) -> Frame:
        """The rows whose key is new; nulls in keys are alike."""
        left, right = frame.alias("new"), known.select(*contract.key).alias("known")
        from pyspark.sql import functions as F  # noqa: N812 - its usual name

        same = [F.col(f"new.{name}").eqNullSafe(F.col(f"known.{name}")) for name in contract.key]
        condition = same[0]
        for each in same[1:]:
            condition = condition & each
        return left.join(right, condition, how="left_anti")

    def where_there(self, frame: Frame, column: str) -> Frame:
        """The rows that have a value there."""
        from pyspark.sql import functions as F  # noqa: N812 - its usual name

        return frame.where(F.col(column).isNotNull())

    def failing_rows(self, check: Check, folders: Mapping[str, Path]) -> Rows:
        """Ask Spark, over the tables that the query names."""
        for name in tables_in(check.query):
            self.load(table(name), folders[name]).createOrReplaceTempView(name)
        found = self.session.sql(check.query).limit(MAX_SHOWN).collect()
        return [row.asDict() for row in found]
