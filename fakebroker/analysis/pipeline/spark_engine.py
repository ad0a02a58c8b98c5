"""The engine for what is large: Spark. What is small it leaves to DuckDB: a table is seconds of jobs to Spark."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeVar

from fakebroker.analysis.pipeline.contract import MAX_CHECKED_ROWS, Table
from fakebroker.analysis.pipeline.dialects import for_spark
from fakebroker.analysis.pipeline.duckdb_engine import DuckEngine, DuckFrame
from fakebroker.analysis.pipeline.recipe import (
    MAX_SMALL_ROWS,
    NO_VALUES,
    Folders,
    Kept,
    Recipe,
    Step,
    tables_named,
    values_named,
)
from fakebroker.analysis.pipeline.rows import Rows, count_rows, from_arrow, parquet_files, to_arrow
from fakebroker.analysis.pipeline.spark_failures import not_shared
from fakebroker.analysis.pipeline.tables import table

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

Frame = Any
T = TypeVar("T")
R = TypeVar("R")

_MAX_SETTLED: Final = 100_000
"""So many rows are kept by the driver."""


class Embedded(NamedTuple):
    """A frame that DuckDB has. `folder` is where its rows are stored, if they are."""

    contract: Table
    frame: DuckFrame
    rows: int
    folder: Path | None = None


class SparkEngine:
    """A frame is a DataFrame of a Spark session, or `Embedded`: what is stored, and what DuckDB makes of it."""

    name: Literal["spark"] = "spark"

    def __init__(self, session: "SparkSession", *, alone: bool = False) -> None:
        """With `alone` DuckDB makes no tables, however small."""
        self.session = session
        self._is_alone = alone

    def frame(self, contract: Table, rows: Rows) -> Frame:
        """Rows as a DataFrame with the contract's columns."""
        if not rows:
            return Embedded(contract, self._embedded.frame(contract, rows), 0)
        return self.session.createDataFrame(to_arrow(contract, rows))

    def load(self, contract: Table, folder: Path) -> Frame:
        """A stored table."""
        return Embedded(contract, self._embedded.load(contract, folder), count_rows(folder), folder)

    def store(self, contract: Table, frame: Frame, folder: Path) -> None:
        """Write a frame; what Spark writes beside the Parquet files goes.

        Raises SparkFailure if the files are not here: workers on other machines wrote them to their own disks. Of a
        DataFrame without rows Spark writes a file, too.
        """
        if isinstance(frame, Embedded):
            self._embedded.store(contract, frame.frame, folder)
            return
        frame.select(*contract.column_names).write.parquet(str(folder))
        self.session.catalog.clearCache()  # what the transformation kept for its own use
        for each in folder.iterdir():
            if each.suffix != ".parquet":
                each.unlink()
        if not parquet_files(folder):
            raise not_shared(folder)

    def rows(self, frame: Frame) -> Rows:
        """The rows of a frame."""
        return self._embedded.rows(frame.frame) if isinstance(frame, Embedded) else from_arrow(frame.toArrow())

    def made(self, recipe: Recipe, contract: Table, frames: Mapping[str, Frame]) -> Frame:
        """What a recipe makes of frames, by their names."""
        there = {name: frame for name, frame in frames.items() if isinstance(frame, Embedded)}
        rows = sum(each.rows for each in there.values())
        if len(there) == len(frames) and rows <= self._embedded_rows(recipe):
            made = self._embedded.made(recipe, contract, {name: each.frame for name, each in there.items()})
            return Embedded(contract, made, rows)
        from fakebroker.analysis.pipeline.of_table import in_ms, of_table

        known = {name: in_ms(self._with_spark(frame)) for name, frame in frames.items()}
        for step in recipe.steps:
            known[step.name] = self._kept(step, known) if isinstance(step, Kept) else self._of_step(step, known)
        return of_table(self._of_query(recipe.query, known), contract)

    def _embedded_rows(self, recipe: Recipe) -> int:
        """Of how many rows DuckDB makes a table: on a cluster, which has more processors, of few only."""
        if self._is_alone:
            return 0
        return recipe.embedded_rows if self._is_local else min(recipe.embedded_rows, MAX_SMALL_ROWS)

    @cached_property
    def _is_local(self) -> bool:
        return bool(self.session.sparkContext.master.startswith("local"))

    @cached_property
    def _embedded(self) -> DuckEngine:
        return DuckEngine()

    def asked(self, query: str, folders: Folders, values: Mapping[str, Any] = NO_VALUES) -> Rows:
        """The rows of a query over stored tables, by their names; `$name` in it is one of the `values`.

        DuckDB asks small tables: each query would be seconds of jobs here.
        """
        from fakebroker.analysis.pipeline.of_table import in_ms

        read = {name: folders[name] for name in tables_named(query) & {*folders}}
        if sum(count_rows(each) for name in read for each in read[name]) <= MAX_CHECKED_ROWS:
            return self._embedded.asked(query, folders, values)
        known = {name: in_ms(self._read(table(name), *there)) for name, there in read.items()}
        return [row.asDict() for row in self._of_query(query, known, values).collect()]

    @property
    def tasks_at_once(self) -> int:
        """How many tasks `ran` works on at the same time."""
        return int(self.session.sparkContext.defaultParallelism)

    def ran(self, work: Callable[[T], R], tasks: Sequence[T]) -> list[R]:
        """What `work` makes of each task, which both can be pickled."""
        if not tasks:
            return []
        made: list[R] = self.session.sparkContext.parallelize(tasks, len(tasks)).map(work).collect()
        return made

    def _read(self, contract: Table, *folders: Path) -> Frame:
        return self.session.read.schema(contract.spark_ddl).parquet(*map(str, folders))

    def _with_spark(self, frame: Frame) -> Frame:
        """A frame as a DataFrame.

        Made of Arrow also without rows: of other empty DataFrames Spark does not know beforehand that they are empty,
        and works on all that is made of them.
        """
        if not isinstance(frame, Embedded):
            return frame
        if frame.folder is not None and frame.rows:
            return self._read(frame.contract, frame.folder)
        return self.session.createDataFrame(to_arrow(frame.contract, self._embedded.rows(frame.frame)))

    def _kept(self, kept: Kept, known: Mapping[str, Frame]) -> Frame:
        """Rows that are computed now; few of them are then with the driver, and planned as such.

        What is made of them is planned without what they were made of: planning takes a time that grows with the square
        of a plan's size. On a cluster, where a worker may be lost with what it keeps, Spark has to know how to make
        them again.
        """
        frame = self._of_query(kept.query, known)
        frame = frame.localCheckpoint() if self._is_local else frame.persist()
        return self.session.createDataFrame(frame.toArrow()) if frame.count() <= _MAX_SETTLED else frame

    def _of_step(self, step: Step, known: Mapping[str, Frame]) -> Frame:
        """A task holds no more than a batch of its rows at a time."""
        from fakebroker.analysis.pipeline.of_table import ddl_in_ms
        from fakebroker.analysis.pipeline.rows import batches_of, rows_of

        given = self._of_query(step.query, known)
        if step.together:
            given = given.repartition(*step.together)
        if step.together or step.order:
            given = given.sortWithinPartitions(*step.together, *step.order)

        def made(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
            return batches_of(step.columns, step.made(rows_of(batches)))

        return given.mapInArrow(made, ddl_in_ms(step.columns))

    def _of_query(self, query: str, known: Mapping[str, Frame], values: Mapping[str, Any] = NO_VALUES) -> Frame:
        """What a query gives. The session knows frames by their names only while the query is read."""
        with _views({name: known[name] for name in tables_named(query) & {*known}}, self.session):
            return self.session.sql(for_spark(query), args=values_named(query, values) or None)


@contextmanager
def _views(frames: Mapping[str, Frame], session: "SparkSession") -> Iterator[None]:
    for name, frame in frames.items():
        frame.createOrReplaceTempView(name)
    try:
        yield
    finally:
        for name in frames:
            session.catalog.dropTempView(name)
