"""What a table promises: columns with types and units, a key, and checks, which are queries that return nothing."""

from typing import Any, Final, Literal, NamedTuple, cast

ColumnType = Literal["string", "int", "long", "double", "boolean", "timestamp", "strings"]
Layer = Literal["bronze", "silver", "gold"]
Row = dict[str, Any]
"""A row of a table, by column."""

# How Spark writes a column's type. A timestamp is UTC; in rows and queries it is a number of milliseconds.
SPARK_TYPES: Final[dict[ColumnType, str]] = {
    "string": "STRING",
    "int": "INT",
    "long": "BIGINT",
    "double": "DOUBLE",
    "boolean": "BOOLEAN",
    "timestamp": "TIMESTAMP",
    "strings": "ARRAY<STRING>",
}

FIRST_TIME_MS: Final = -62_135_596_800_000
"""0001-01-01T00:00:00Z. Tables have no times before it."""

LAST_TIME_MS: Final = 253_402_300_799_999
"""9999-12-31T23:59:59.999Z. Tables have no times after it."""


def time_or_none(ms: int | None) -> int | None:
    """A time in milliseconds as a table has it: None for one that no table can have."""
    return ms if ms is not None and FIRST_TIME_MS <= ms <= LAST_TIME_MS else None


def between_ms(began_ms: int | None, ended_ms: int | None) -> int | None:
    """How long something took; None if that is not known, or the clock went back."""
    return ended_ms - began_ms if began_ms is not None and ended_ms is not None and ended_ms >= began_ms else None


class Column(NamedTuple):
    """One column. `about` says what it is, with its unit; names end in `_ms` for durations and `_at` for times."""

    name: str
    type: ColumnType
    about: str
    is_nullable: bool = False


def columns(text: str) -> tuple[Column, ...]:
    """The columns that a text has, a line for each: `name type: about`, or `name type?: about` if it is nullable."""
    return tuple(map(_column, text.strip().splitlines()))


def _column(line: str) -> Column:
    declared, _, about = line.partition(": ")
    name, kind = declared.split()
    return Column(name, cast("ColumnType", kind.rstrip("?")), about, kind.endswith("?"))


MAX_SHOWN: Final = 5
"""So many rows of a check that fails are shown."""

MAX_CHECKED_ROWS: Final = 20_000_000
"""So many rows are checked, and asked, by DuckDB within about a minute; more are for Spark."""

KEY_CHECK: Final = "key"
"""The name of the check that every table has, that its key is unique."""


class Check(NamedTuple):
    """Something that must be true of a table: `query` returns the rows of which it is not, or is their condition.

    It is SQL as in a recipe: tables stand in it by their names, times are numbers of milliseconds. It may use other
    tables that are published with this one; where one of them is missing the check is left out, and said to be.
    """

    name: str
    must: str
    query: str


class Table(NamedTuple):
    """A table's contract. `key` names the columns that no two rows have alike; nulls are alike here."""

    name: str
    layer: Layer
    about: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    checks: tuple[Check, ...] = ()

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of its columns, in their order."""
        return tuple(column.name for column in self.columns)

    @property
    def spark_ddl(self) -> str:
        """Its columns as Spark declares them. All are nullable there, as in every file that Spark reads."""
        return ", ".join(f"`{column.name}` {SPARK_TYPES[column.type]}" for column in self.columns)

    @property
    def all_checks(self) -> tuple[Check, ...]:
        """Its own checks, and those that every table has: the key is unique, what is not nullable is there."""
        return (self._key_is_unique, self._columns_are_there, *map(self._whole, self.checks))

    def _whole(self, check: Check) -> Check:
        is_condition = not check.query.startswith("SELECT")
        return check._replace(query=f"SELECT * FROM {self.name} WHERE {check.query}") if is_condition else check

    @property
    def _key_is_unique(self) -> Check:
        columns = ", ".join(f'"{name}"' for name in self.key)
        query = f"SELECT {columns}, COUNT(*) AS times FROM {self.name} GROUP BY {columns} HAVING COUNT(*) > 1"
        return Check(KEY_CHECK, f"no two rows have the same {', '.join(self.key)}", query)

    @property
    def _columns_are_there(self) -> Check:
        """One query for all columns: each is a pass over the table."""
        names = [column.name for column in self.columns if not column.is_nullable]
        missing = " OR ".join(f'"{name}" IS NULL' for name in names)
        return Check("not null", f"{', '.join(names)} are never null", f"SELECT * FROM {self.name} WHERE {missing}")


def columns_only(text: str) -> Table:
    """The contract of rows that are never stored: columns, from a text as for `columns`."""
    return Table("", "bronze", "", columns(text), ())


# Where a row comes from: a record of a log, or a line of a journal.
ORIGIN: Final = columns("""
    source string: the run of a journal, or the name of a log: rows of one source belong together
    log_partition int?: the partition of `__consumer_offsets`; null for a row from a journal
    log_offset long?: the record's offset in that partition; null for a row from a journal
    seq long?: the entry of the journal; null for a row from a log
    part int?: the line's number within that entry; null for a row from a log
""")
ORIGIN_KEY: Final = tuple(column.name for column in ORIGIN)


def groups_have_one_partition(table: str) -> Check:
    """The check that no group is in two partitions of a log, as it seems to be when two logs are taken for one."""
    return Check(
        "groups have one partition",
        "a group is in one partition of a log; decode logs of several clusters, or from before and "
        "after a change of the partition count, one by one, each with its own --source",
        "SELECT source, group_id, MIN(log_partition) AS log_partition, MAX(log_partition) AS other_log_partition"
        f" FROM {table} GROUP BY source, group_id HAVING MIN(log_partition) <> MAX(log_partition)",
    )
