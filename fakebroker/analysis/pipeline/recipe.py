"""How a table is made of others, written once for both engines.

A recipe is a query, in the part of SQL that DuckDB and Spark share (`dialects.py` has the few words that differ). What
SQL cannot say well is a step before it: a Python function over the rows of a query, sorted.

In a query stands a table by its name. Its times are numbers of milliseconds since the epoch, and so are those of what
it makes; the engine makes the columns of the contract of it. A time that no table can have becomes null.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from fakebroker.analysis.pipeline.contract import Row, Table

MAX_SMALL_ROWS: Final = 300_000
"""DuckDB makes tables of so many rows while Spark would plan and start the first job."""


class Step(NamedTuple):
    """Rows that a function of a module, which Spark's workers run, makes of the rows of a query.

    Later queries know them by `name`; `columns` are theirs. Rows that have the columns `together` alike are one call,
    in the order of the columns `order`; without `together` they come in any order, and any to any call.
    """

    name: str
    columns: Table
    query: str
    function: Callable[[Iterable[Row]], Iterable[Row]]
    together: tuple[str, ...] = ()
    order: tuple[str, ...] = ()

    def made(self, given: Iterable[Row]) -> Iterator[Row]:
        """What the function makes of rows, which are sorted by `together` and `order`."""
        if not self.together:
            yield from self.function(given)
            return
        for _, rows in groupby(given, itemgetter(*self.together)):
            yield from self.function(rows)


class Kept(NamedTuple):
    """Rows of a query that others read, made once: because there are several, or since what reads them is long."""

    name: str
    query: str


class Recipe(NamedTuple):
    """A query, and what it needs beside tables: steps in their order.

    `embedded_rows`: of up to so many rows the embedded engine makes it no later than Spark on the same machine.
    """

    query: str
    steps: tuple[Step | Kept, ...] = ()
    embedded_rows: int = MAX_SMALL_ROWS

    def tables(self, names: Iterable[str]) -> tuple[str, ...]:
        """The tables of `names` that it reads."""
        texts = (*(step.query for step in self.steps), self.query)
        read = {name for text in texts for name in tables_named(text)}
        own = {step.name for step in self.steps}
        return tuple(name for name in names if name in read and name not in own)


_FROM: Final = re.compile(r"\b(?:FROM|JOIN) (\w+)")


def tables_named(query: str) -> set[str]:
    """What a query reads. Columns may have names of tables, too: group_health has `commits`."""
    return set(_FROM.findall(query))


Folders = Mapping[str, Sequence[Path]]
"""Where the files of stored tables are, by the names of these."""

NO_VALUES: Final[Mapping[str, Any]] = MappingProxyType({})


def values_named(query: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the values that a query names, as `$name`."""
    return {name: values[name] for name in re.findall(r"\$(\w+)", query)}


def listed(names: Iterable[str], of: str = "") -> str:
    """Columns with commas between, each quoted, as columns of the table `of` if that is given."""
    prefix = f"{of}." if of else ""
    return ", ".join(f'{prefix}"{name}"' for name in names)
