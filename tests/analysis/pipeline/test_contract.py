"""Contracts of tables."""

from typing import TYPE_CHECKING

import pytest

from fakebroker.analysis.pipeline.contract import Check, Column, Table, columns
from fakebroker.analysis.pipeline.engines import tables_in
from fakebroker.analysis.pipeline.tables import all_tables, table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = all_tables()


@pytest.mark.parametrize("contract", TABLES, ids=lambda contract: contract.name)
def test_keys_are_columns_and_no_column_is_there_twice(contract: Table) -> None:
    """A key names columns of its table; a table has a column once."""
    assert set(contract.key) <= set(contract.column_names)
    assert len(set(contract.column_names)) == len(contract.columns)


@pytest.mark.parametrize("contract", TABLES, ids=lambda contract: contract.name)
def test_durations_and_times_say_their_unit(contract: Table) -> None:
    """A timestamp's name ends in `_at` or is `at`, and no other column's does."""
    times = {column.name for column in contract.columns if column.type == "timestamp"}

    assert times == {name for name in contract.column_names if name == "at" or name.endswith("_at")}


def test_columns_are_lines_of_a_text() -> None:
    """A line is a column; a question mark after its type says that it is nullable."""
    found = columns("""
        began_at timestamp?: when it began: null if unknown
        group_id string: the group
    """)

    began = Column("began_at", "timestamp", "when it began: null if unknown", True)
    assert found == (began, Column("group_id", "string", "the group"))


def test_a_check_may_be_the_condition_of_wrong_rows() -> None:
    """Then its query is that for these rows of its table."""
    own = (Check("own", "something is so", "a < 0"), Check("more", "it is so", "SELECT 1"))
    made = Table("t", "gold", "about", columns("a int: a"), ("a",), own)

    assert [check.query for check in made.all_checks[2:]] == ["SELECT * FROM t WHERE a < 0", "SELECT 1"]


def test_every_table_checks_its_key_and_its_columns() -> None:
    """Beside its own checks a table has one for its key and one for the columns that are never null."""
    own = Check("own", "something is so", "SELECT 1")
    made = Table("t", "gold", "about", (Column("a", "int", "a"), Column("b", "int", "b", True)), ("a",), (own,))

    assert [check.name for check in made.all_checks] == ["key", "not null", "own"]
    assert made.all_checks[1].query == 'SELECT * FROM t WHERE "a" IS NULL'


@pytest.mark.spark
def test_spark_understands_every_contract_and_check(spark: "SparkSession") -> None:
    """Spark can declare every table, and run every check on it."""
    for each in TABLES:
        spark.createDataFrame([], each.spark_ddl).createOrReplaceTempView(each.name)
    for each in TABLES:
        for check in each.all_checks:
            assert spark.sql(check.query).columns


def test_a_check_reads_only_the_tables_behind_from_and_join() -> None:
    """Columns that are named like tables (`group_health` has `commits`) are not taken for them."""
    for each in TABLES:
        assert all(tables_in(check.query) == [each.name] for check in each.all_checks[:2])
    (adds_up,) = table("campaign_failures").checks
    assert tables_in(adds_up.query) == ["campaign_runs", "campaign_failures"]
