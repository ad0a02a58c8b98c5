"""A history is read once: the tasks that decode it write Parquet, and tell Spark no more than the names of the files.

Commits outside of transactions, nearly all that a history has, are whole rows of the table `commits` then and never
pass through Spark's Java. The other rows are kept as rows of `decoded`, and Spark makes the tables of them.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import compute

from fakebroker.pipeline.arrow_decode import DECODED_SCHEMA
from fakebroker.pipeline.rows import arrow_schema, parquet_files
from fakebroker.pipeline.spark_failures import not_shared
from fakebroker.pipeline.tables import commits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from fakebroker.pipeline.sources.history import Part

COMMITS_SCHEMA: Final = arrow_schema(commits.TABLE)
ROWS_A_GROUP: Final = 262_144
_TOGETHER: Final = ("log_partition", "group_id", "topic", "partition")
# Columns of few different values, and columns that rise: written so, they take the least time and room.
_DICTIONARIES: Final = [field.name for field in COMMITS_SCHEMA if field.type == pa.string()]
_RISING: Final = dict.fromkeys(("log_offset", "applied_log_offset", "at", "applied_at"), "DELTA_BINARY_PACKED")


class Written(NamedTuple):
    """A file that a task has written, and its rows. Its name is in the folder of commits or in that of others."""

    name: str
    commits: int
    others: int


PartWriter = Callable[["Part", Path, Path], Written]


def store_history(session: "SparkSession", parts: "Sequence[Part]", plain: Path, others: Path) -> int:
    """Decode the parts of a history into two folders, which are made; returns how many rows both have.

    Args:
        session: Spark runs a task for each part.
        parts: What to read, from `history_parts`.
        plain: Gets the commits outside of transactions, as the table `commits` has them.
        others: Gets the other rows of `decoded`.

    A task that Spark runs again, or twice at a time, writes files with other names; those of which no finished task
    has told are removed. Raises SparkFailure if workers on other machines wrote to folders of their own.
    """
    for folder in (plain, others):
        folder.mkdir(parents=True)
    if not parts:
        return 0
    write = partial(_write_part, plain=plain, others=others)
    written: list[Written] = session.sparkContext.parallelize(parts, len(parts)).map(write).collect()
    for folder, names in (
        (plain, {each.name for each in written if each.commits}),
        (others, {each.name for each in written if each.others}),
    ):
        there = {file.name: file for file in parquet_files(folder)}
        if not names <= there.keys():
            raise not_shared(folder)
        for name in there.keys() - names:
            there[name].unlink()
    return sum(each.commits + each.others for each in written)


def _write_part(part: "Part", plain: Path, others: Path) -> Written:
    """The work of a task. A file is there only if it has rows."""
    name = f"part-{os.urandom(8).hex()}.parquet"
    of_commits = _File(plain / name, COMMITS_SCHEMA, by_partition)
    of_others = _File(others / name, DECODED_SCHEMA)
    for batch in part.read():
        is_plain = _is_plain(batch)
        count = compute.sum(is_plain).as_py()
        if count == len(batch):
            of_commits.add(plain_commits(batch))
        elif count:
            of_commits.add(plain_commits(batch.filter(is_plain)))
        if count < len(batch):
            of_others.add(batch.filter(compute.invert(is_plain)) if count else batch)
    return Written(name, of_commits.close(), of_others.close())


def _is_plain(decoded: Any) -> Any:
    """Which rows of `decoded` are commits outside of transactions; others may have no `transactional`."""
    is_commit = compute.equal(decoded.column("what"), "commit")
    return compute.and_kleene(is_commit, compute.invert(decoded.column("transactional")))


def plain_commits(decoded: Any) -> Any:
    """Rows of `commits` for commits of `decoded` outside of transactions: each took effect where it stands."""
    count = len(decoded)
    later = {
        "outcome": pa.repeat(pa.scalar("committed"), count),
        "applied_at": decoded.column("at"),
        "applied_log_offset": decoded.column("log_offset"),
    }
    known = {field.name: decoded.column(field.name) for field in COMMITS_SCHEMA if field.name in decoded.schema.names}
    found = {**known, **later}
    arrays = [found.get(field.name, pa.nulls(count, field.type)) for field in COMMITS_SCHEMA]
    return pa.RecordBatch.from_arrays(arrays, schema=COMMITS_SCHEMA)


def with_dictionaries(table: Any) -> Any:
    """The table with texts of few different values as numbers in dictionaries, which are faster to move and write."""
    names = table.schema.names
    columns = [table.column(name).combine_chunks() for name in names]
    made = [
        column.dictionary_encode() if name in _DICTIONARIES else column
        for name, column in zip(names, columns, strict=True)
    ]
    return pa.Table.from_arrays(made, names)


def by_partition(commits: Any) -> Any:
    """Commits, those of one partition of one group together, and otherwise in the order in which they were.

    What puts them together later, as the what-if does, takes half the time when they come so. Of more keys than a
    number of 64 bits tells apart some are mixed, which costs nothing else.
    """
    place = np.zeros(len(commits), np.int64)
    for name in _TOGETHER:
        column = commits.column(name).combine_chunks()
        codes = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        place = place * (len(codes.dictionary) + 1) + codes.indices.fill_null(-1).to_numpy(zero_copy_only=False) + 1
    return commits.take(pa.array(np.argsort(place, kind="stable")))


class _File:
    """A Parquet file that is made when the first rows come. Each group of its rows is put in order by `in_order`."""

    def __init__(self, path: Path, schema: Any, in_order: Callable[[Any], Any] | None = None) -> None:
        self._path = path
        self._schema = schema
        self._in_order = in_order
        self._writer: Any = None
        self._waiting: list[Any] = []
        self._rows = self._rows_waiting = 0

    def add(self, batch: Any) -> None:
        """Take some rows; they are written as groups of ROWS_A_GROUP or more."""
        self._waiting.append(batch)
        self._rows_waiting += len(batch)
        if self._rows_waiting >= ROWS_A_GROUP:
            self._write(self._waiting)
            self._waiting, self._rows_waiting = [], 0

    def close(self) -> int:
        """Write what waits; returns how many rows the file has, 0 if there is none."""
        if self._waiting:
            self._write(self._waiting)
        if self._writer is not None:
            self._writer.close()
        return self._rows

    def _write(self, batches: Iterable[Any]) -> None:
        table = with_dictionaries(pa.Table.from_batches(batches, self._schema))
        if self._in_order is not None:
            table = self._in_order(table)
        if self._writer is None:
            names = set(self._schema.names)
            self._writer = pq.ParquetWriter(
                self._path,
                table.schema,
                compression="zstd",
                use_dictionary=[name for name in _DICTIONARIES if name in names],
                column_encoding={name: how for name, how in _RISING.items() if name in names},
                store_schema=False,  # to readers they are texts
            )
        self._writer.write_table(table, row_group_size=len(table))
        self._rows += len(table)
