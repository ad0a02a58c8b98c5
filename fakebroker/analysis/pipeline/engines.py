"""The two engines that make tables: DuckDB in this process, and Spark for what is large. They give the same rows.

A frame is what an engine works with: a query of DuckDB, or a DataFrame.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from fakebroker.analysis.pipeline.contract import Table
from fakebroker.analysis.pipeline.recipe import Recipe, listed
from fakebroker.analysis.pipeline.tables import NAMES, recipe, table

if TYPE_CHECKING:
    from fakebroker.analysis.pipeline.duckdb_engine import DuckEngine
    from fakebroker.analysis.pipeline.spark_engine import SparkEngine

Engine: TypeAlias = "DuckEngine | SparkEngine"
Frame = Any
INPUTS = ("decoded", "journal_lines", "live_ends", "transaction_log")
"""What tables are made of beside tables; it is not published."""


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


def union(engine: Engine, contract: Table, frames: Sequence[Frame]) -> Frame:
    """All rows of some frames of a table."""
    parts = {f"part_{number}": frame for number, frame in enumerate(frames)}
    queries = (f"SELECT {listed(contract.column_names)} FROM {name}" for name in parts)
    return engine.made(Recipe(" UNION ALL ".join(queries)), contract, parts)


def only_new(engine: Engine, contract: Table, fresh: Frame, known: Frame) -> Frame:
    """The rows of a table whose key is not among those that are known; nulls in keys are alike."""
    same = " AND ".join(f'fresh."{name}" IS NOT DISTINCT FROM known."{name}"' for name in contract.key)
    query = f"SELECT fresh.* FROM fresh ANTI JOIN known ON {same}"
    return engine.made(Recipe(query), contract, {"fresh": fresh, "known": known})


def contract_of(name: str) -> Table:
    """The contract of a table or of what tables are made from."""
    if name == "live_ends":
        return table("log_ends")
    return table(name)


def tables_in(query: str) -> list[str]:
    """The tables that a query reads."""
    return list(Recipe(query).tables(NAMES))
