"""A history is read once: the tasks that decode it write Parquet, and tell the engine the names of the files.

Commits outside of transactions, nearly all that a history has, are whole rows of the table `commits` then, and records
of groups whole rows of `coordinator_records`: the engine never sees them. The other rows, of transactions and rejects,
are kept as rows of `decoded`, and the engine makes the tables of them.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import compute

from fakebroker.analysis.pipeline.arrow_decode import DECODED_SCHEMA
from fakebroker.analysis.pipeline.rows import arrow_schema, parquet_files
from fakebroker.analysis.pipeline.spark_failures import not_shared
from fakebroker.analysis.pipeline.tables import commits, coordinator_records

if TYPE_CHECKING:
    from fakebroker.analysis.pipeline.engines import Engine
    from fakebroker.analysis.pipeline.sources.parts import Part

COMMITS_SCHEMA: Final = arrow_schema(commits.TABLE)
RECORDS_SCHEMA: Final = arrow_schema(coordinator_records.TABLE)
ROWS_A_GROUP: Final = 262_144
_TOGETHER: Final = ("log_partition", "group_id", "topic", "partition")
# Columns of few different values, and columns that rise: written so, they take the least time and room.
_DICTIONARIES: Final = [*(field.name for field in COMMITS_SCHEMA if field.type == pa.string()), "kind", "key"]
_RISING: Final = dict.fromkeys(("log_offset", "applied_log_offset", "at", "applied_at"), "DELTA_BINARY_PACKED")
_MARKERS: Final = pa.array(["commit", "abort"])


class Folders(NamedTuple):
    """Where rows go: whole ones of `commits` and `coordinator_records`, and others as they were decoded."""

    commits: Path
    records: Path
    others: Path


class Written(NamedTuple):
    """What a task has written: files of one name in those of the folders for which there were rows, and how many."""

    name: str
    rows: tuple[int, ...]


def store_history(engine: "Engine", parts: "Sequence[Part]", folders: Folders, *, may_repeat: bool = False) -> int:
    """Decode the parts of a history, a task for each, into folders, which are made; returns how many rows all have.

    With `may_repeat` rows have to be compared before they are rows of tables: all of them are among the others.
    A task that Spark runs again, or twice at a time, writes files with other names; those that no finished task
    has reported are removed. Raises SparkFailure if workers on other machines wrote to folders of their own.
    """
    for folder in folders:
        folder.mkdir(parents=True)
    written = engine.ran(partial(_write_part, folders=folders, may_repeat=may_repeat), parts)
    for number, folder in enumerate(folders):
        names = {each.name for each in written if each.rows[number]}
        there = {file.name: file for file in parquet_files(folder)}
        if not names <= there.keys():
            raise not_shared(folder)
        for name in there.keys() - names:
            there[name].unlink()
    return sum(sum(each.rows) for each in written)


def _write_part(part: "Part", folders: Folders, may_repeat: bool) -> Written:
    """The work of a task. A file is there only if it has rows."""
    name = f"part-{os.urandom(8).hex()}.parquet"
    of_commits = _File(folders.commits / name, COMMITS_SCHEMA, by_partition)
    of_records = _File(folders.records / name, RECORDS_SCHEMA)
    of_others = _File(folders.others / name, DECODED_SCHEMA)
    for batch in part.read():
        if may_repeat:
            of_others.add(batch)
            continue
        is_commit, is_record = _is_plain_commit(batch), _is_whole_record(batch)
        of_commits.add(plain_commits(_chosen(batch, is_commit)))
        of_records.add(_of_schema(_chosen(batch, is_record), RECORDS_SCHEMA))
        of_others.add(_chosen(batch, compute.invert(compute.or_(is_commit, is_record))))
    return Written(name, (of_commits.close(), of_records.close(), of_others.close()))


def _is_plain_commit(decoded: Any) -> Any:
    """Which rows of `decoded` are commits outside of transactions; others may have no `transactional`."""
    is_commit = compute.equal(decoded.column("what"), "commit")
    return compute.and_(is_commit, compute.invert(decoded.column("transactional").fill_null(True)))


def _is_whole_record(decoded: Any) -> Any:
    """Which rows of `decoded` are records but commits and markers, by which outcomes of transactions are found."""
    is_marker = compute.is_in(decoded.column("kind"), value_set=_MARKERS)
    return compute.and_not(compute.equal(decoded.column("what"), "record"), is_marker)


def _chosen(batch: Any, is_chosen: Any) -> Any:
    """Some rows of a batch; nearly always these are all of it or none."""
    return batch if is_chosen.true_count == len(batch) else batch.filter(is_chosen)


def plain_commits(decoded: Any) -> Any:
    """Rows of `commits` for commits of `decoded` outside of transactions: each took effect where it stands."""
    later = {
        "outcome": pa.repeat(pa.scalar("committed"), len(decoded)),
        "applied_at": decoded.column("at"),
        "applied_log_offset": decoded.column("log_offset"),
    }
    return _of_schema(decoded, COMMITS_SCHEMA, later)


def _of_schema(decoded: Any, schema: Any, later: Mapping[str, Any] = MappingProxyType({})) -> Any:
    """Rows of `decoded` as those of another table: `later` are columns that are not in the record; others are null."""
    count = len(decoded)
    known = {field.name: decoded.column(field.name) for field in schema if field.name in decoded.schema.names}
    found = {**known, **later}
    arrays = [found.get(field.name, pa.nulls(count, field.type)) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


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
        """Take some rows, or none; they are written as groups of ROWS_A_GROUP or more."""
        if not len(batch):
            return
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
