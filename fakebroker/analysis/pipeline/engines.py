"""The two engines that make tables: DuckDB in this process, and Spark for what is large. They give the same rows.

A frame is what an engine works with: a query of DuckDB, or a DataFrame.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from fakebroker.analysis.pipeline.contract import Check, Table
from fakebroker.analysis.pipeline.recipe import Recipe
from fakebroker.analysis.pipeline.rows import Rows
from fakebroker.analysis.pipeline.tables import NAMES, recipe, table

Frame = Any
INPUTS = ("decoded", "journal_lines", "live_ends", "transaction_log")
"""What tables are made of beside tables; it is not published."""


class Engine(Protocol):
    """What makes, stores and checks tables."""

    name: str

    def frame(self, contract: Table, rows: Rows) -> Frame:
        """Rows as a frame."""

    def load(self, contract: Table, folder: Path) -> Frame:
        """A stored table; an empty frame if it is not there."""

    def store(self, contract: Table, frame: Frame, folder: Path) -> None:
        """Write a frame as Parquet files into `folder`, which is not there yet."""

    def rows(self, frame: Frame) -> Rows:
        """The rows of a frame."""

    def union(self, frames: Sequence[Frame]) -> Frame:
        """The rows of several frames of one table."""

    def only_new(self, contract: Table, frame: Frame, known: Frame) -> Frame:
        """The rows of `frame` whose key no row of `known` has."""

    def where_there(self, frame: Frame, column: str) -> Frame:
        """The rows in which a column is not null."""

    def made(self, recipe: Recipe, contract: Table, frames: Mapping[str, Frame]) -> Frame:
        """What a recipe makes of frames, by their names."""

    def failing_rows(self, check: Check, folders: Mapping[str, Path]) -> Rows:
        """The first rows that a check returns, over stored tables: none if what it says is true."""


def tables_needed(name: str, options: Any = None) -> tuple[str, ...]:
    """The tables that are read to make the one of that name."""
    return recipe(name, options).tables((*NAMES, *INPUTS))


def make(engine: Engine, name: str, frames: Mapping[str, Frame], options: Any = None) -> Frame:
    """Make a table of the frames it needs; those that are not given are empty."""
    needed = {
        each: frames[each] if each in frames else engine.frame(contract_of(each), [])
        for each in tables_needed(name, options)
    }
    return engine.made(recipe(name, options), contract_of(name), needed)


def contract_of(name: str) -> Table:
    """The contract of a table or of what tables are made from."""
    if name == "live_ends":
        return table("log_ends")
    return table(name)


def tables_in(query: str) -> list[str]:
    """The tables that a query reads."""
    return list(Recipe(query).tables(NAMES))
