"""The rows of one group from published tables: filtered where the files are read, and no more than a window needs."""

import operator
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fakebroker.analysis.history.compile.happened import position_of
from fakebroker.analysis.history.compile.settled import SETTLED_STATES
from fakebroker.analysis.pipeline.contract import Row
from fakebroker.analysis.pipeline.group_transitions import RELOAD_REASONS
from fakebroker.protocol.errors import FakebrokerError
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.registry import newest_with_retention

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NEEDED = ("commits", "group_states", "members", "assignments")
_USED = ("expiries", "events", "coordinator_records", "transactions")  # if they are there
_ADMIN_APIS = ("OffsetDelete", "DeleteGroups", "DeleteTopics", "OffsetCommit", "TxnOffsetCommit")


class Condition(NamedTuple):
    """What rows are read: `column` `is_` `value`. `is_` is "=", ">=", "<" or "in"; times are milliseconds."""

    column: str
    is_: str
    value: Any


Load = Callable[[str, Sequence[Condition]], Iterator[Row]]  # (table, conditions) -> its rows


def rows_of_group(
    folder: Path, group_id: str, start_ms: int, end_ms: int, source: str | None, load: Load | None = None
) -> dict[str, list[Row]]:
    """The rows that `window_of` needs of the tables in `folder`; `load` reads them, with pyarrow unless given.

    Raises FakebrokerError for a folder without the tables, with damaged ones, or that does not know the group.
    """
    from fakebroker.analysis.pipeline.extras import need_extra

    need_extra("history")
    from fakebroker.analysis.pipeline.publish import Published

    published = Published(folder)
    missing = [name for name in _NEEDED if not published.has(name)]
    if missing:
        names = ", ".join(missing)
        raise FakebrokerError(f"{folder} has no tables {names}: `history decode` and `pipeline build` make them")

    for name in (*_NEEDED, *(each for each in _USED if published.has(each))):
        published.folder_of(name)  # raises for one whose files are not those that were published
    reader = _Reader(load or arrow_loader(folder), published.has, group_id, source)
    found = reader.rows(start_ms, end_ms)
    if not found["commits"] and not found["group_states"]:
        until = "" if source is None else f" in source {source}"
        raise FakebrokerError(f"{folder}: there are no records of group {group_id}{until} before the end of the window")
    return found


class _Reader:
    """Reads the tables of one group."""

    def __init__(self, load: Load, has: Callable[[str], bool], group_id: str, source: str | None) -> None:
        self._load, self._has, self._group = load, has, group_id
        self._of_group = [Condition("group_id", "=", group_id)]
        self._of_source = [] if source is None else [Condition("source", "=", source)]
        self._of_run = [] if source is None else [Condition("run", "=", source)]

    def rows(self, start_ms: int, end_ms: int) -> dict[str, list[Row]]:
        """The rows of every table until the end of a window."""
        states = self._all("group_states", Condition("began_at", "<", end_ms + 1))
        since = Condition("at", ">=", _needed_since_ms(states, start_ms))
        until = Condition("at", "<", end_ms + 1)
        found = {
            "group_states": states,
            "members": self._all("members", since, until),
            "assignments": self._all("assignments", since, until),
            "commits": self._commits(start_ms, end_ms),
        }
        if self._has("expiries"):
            found["expiries"] = self._all("expiries", Condition("expired_at", "<", end_ms + 1))
        if self._has("coordinator_records"):
            found["coordinator_records"] = self._all("coordinator_records", Condition("at", "<", end_ms + 1))
            found["coordinator_records"] += self._markers(found["commits"], end_ms)
        producers = {row["producer_id"] for row in found["commits"] if row["producer_id"] is not None}
        if producers and self._has("transactions"):
            of_producers = [Condition("producer_id", "in", producers), *self._of_source]
            found["transactions"] = list(self._load("transactions", of_producers))
        if self._has("events"):
            records = (Condition("kind", "=", "coordinator_record"), Condition("group", "=", self._group))
            found["events"] = [
                *self._requests(end_ms),
                *self._lines(end_ms, *records),
                *self._lines(end_ms, Condition("kind", "=", "transaction_transition")),  # of any transactional id
            ]
        return found

    def _all(self, name: str, *conditions: Condition) -> list[Row]:
        return list(self._load(name, [*self._of_group, *self._of_source, *conditions]))

    def _commits(self, start_ms: int, end_ms: int) -> list[Row]:
        """Those of the window, of all transactions; of those before it the last of each partition in each source."""
        committed = [*self._of_group, *self._of_source, Condition("outcome", "=", "committed")]
        last: dict[tuple[Any, ...], Row] = {}
        for row in self._load("commits", [*committed, Condition("at", "<", start_ms)]):
            key = row["source"], row["topic"], row["partition"]
            if key not in last or position_of(last[key]) < position_of(row):
                last[key] = row
        within = [Condition("at", ">=", start_ms), Condition("at", "<", end_ms + 1)]
        return [*last.values(), *self._load("commits", [*self._of_group, *self._of_source, *within])]

    def _markers(self, commits: Sequence[Row], end_ms: int) -> Iterator[Row]:
        """The ends of transactions in the partition of the group's log."""
        places = {(row["log_partition"], row["producer_id"]) for row in commits if row["producer_id"] is not None}
        if not places:
            return
        conditions = [
            Condition("kind", "in", ("commit", "abort")),
            Condition("producer_id", "in", {producer_id for _, producer_id in places}),
            Condition("at", "<", end_ms + 1),
        ]
        for row in self._load("coordinator_records", [*conditions, *self._of_source]):
            if (row["log_partition"], row["producer_id"]) in places:
                yield row

    def _lines(self, end_ms: int, *conditions: Condition) -> Iterator[Row]:
        """Lines of journals."""
        return self._load("events", [*conditions, Condition("wall_ms", "<", end_ms + 1), *self._of_run])

    def _requests(self, end_ms: int) -> Iterator[Row]:
        """Requests that delete something of the group, say how long offsets are kept, or commit in a transaction."""
        for row in self._lines(end_ms, Condition("api", "in", _ADMIN_APIS)):
            is_old = row["api"] != "OffsetCommit" or row["version"] <= newest_with_retention(ApiKey.OFFSET_COMMIT)
            if is_old and (row["api"] == "DeleteTopics" or self._group in (row["groups"] or ())):
                yield row


def _needed_since_ms(states: Sequence[Row], start_ms: int) -> int:
    """Members and assignments matter from the rebalance on that made the state of the group at `start_ms`."""
    by_source: dict[str, list[Row]] = {}
    for row in sorted(states, key=position_of):
        reason = row["reason"] or ""
        is_new = not reason.startswith(RELOAD_REASONS)
        if row["state"] in SETTLED_STATES and row["began_at"] < start_ms and is_new:
            by_source.setdefault(row["source"], []).append(row)
    return min((rows[-2]["began_at"] for rows in by_source.values() if len(rows) > 1), default=0)


_TESTS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "=": operator.eq,
    ">=": operator.ge,
    "<": operator.lt,
    "in": lambda field, values: field.isin(sorted(values)),
}


def arrow_loader(folder: Path) -> Load:
    """Reads Parquet with pyarrow, in batches."""

    def load(name: str, conditions: Sequence[Condition]) -> Iterator[Row]:
        import pyarrow as pa
        import pyarrow.dataset as ds

        from fakebroker.analysis.pipeline.rows import scanned_rows
        from fakebroker.analysis.pipeline.tables import table

        times = _times_of(name)
        tests = [
            _TESTS[is_](ds.field(column), pa.scalar(value, pa.timestamp("ms", "UTC")) if column in times else value)
            for column, is_, value in conditions
        ]
        yield from scanned_rows(table(name), folder / name, reduce(operator.and_, tests))

    return load


def spark_loader(spark: "SparkSession", folder: Path) -> Load:
    """Reads with Spark, for tables that lie where only it reads."""

    def load(name: str, conditions: Sequence[Condition]) -> Iterator[Row]:
        from pyspark.sql.functions import col, lit, timestamp_millis

        from fakebroker.analysis.pipeline.of_table import in_ms
        from fakebroker.analysis.pipeline.tables import table

        times = _times_of(name)
        frame = spark.read.schema(table(name).spark_ddl).parquet(str(folder / name))
        for column, is_, value in conditions:
            frame = frame.where(_TESTS[is_](col(column), timestamp_millis(lit(value)) if column in times else value))
        for row in in_ms(frame, table(name)).toLocalIterator():
            yield row.asDict()

    return load


def _times_of(name: str) -> set[str]:
    from fakebroker.analysis.pipeline.tables import table

    return {column.name for column in table(name).columns if column.type == "timestamp"}
