"""Contracts of tables."""

from typing import TYPE_CHECKING

import pytest

from fakebroker.pipeline.contract import Check, Column, Table
from fakebroker.pipeline.tables import all_tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = all_tables()


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_keys_are_columns_and_no_column_is_there_twice(table: Table) -> None:
    """A key names columns of its table; a table has a column once."""
    assert set(table.key) <= set(table.column_names)
    assert len(set(table.column_names)) == len(table.columns)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_durations_and_times_say_their_unit(table: Table) -> None:
    """A timestamp's name ends in `_at` or is `at`, and no other column's does."""
    times = {column.name for column in table.columns if column.type == "timestamp"}

    assert times == {name for name in table.column_names if name == "at" or name.endswith("_at")}


def test_every_table_checks_its_key_and_its_columns() -> None:
    """Beside its own checks a table has one for its key and one for the columns that are never null."""
    own = Check("own", "something is so", "SELECT 1")
    table = Table("t", "gold", "about", (Column("a", "int", "a"), Column("b", "int", "b", True)), ("a",), (own,))

    assert [check.name for check in table.all_checks] == ["key", "not null", "own"]
    assert table.all_checks[1].query == "SELECT * FROM t WHERE `a` IS NULL"


@pytest.mark.spark
def test_spark_understands_every_contract_and_check(spark: "SparkSession") -> None:
    """Spark can declare every table, and run every check on it."""
    for table in TABLES:
        spark.createDataFrame([], table.spark_ddl).createOrReplaceTempView(table.name)
    for table in TABLES:
        for check in table.all_checks:
            assert spark.sql(check.query).columns
