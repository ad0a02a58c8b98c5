"""A frame becomes that of a table: its columns, in their order, with their types."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from fakebroker.analysis.pipeline.contract import FIRST_TIME_MS, LAST_TIME_MS, SPARK_TYPES, Column, Table


def of_table(frame: DataFrame, table: Table) -> DataFrame:
    """The columns of `table`. Times are numbers of milliseconds in `frame`; one that no table can have becomes null."""
    return frame.select(*(_column(column) for column in table.columns))


def in_ms(frame: DataFrame) -> DataFrame:
    """The same columns, times as numbers of milliseconds."""
    columns = ((kind, F.col(f"`{name}`"), name) for name, kind in frame.dtypes)
    return frame.select(
        *(F.unix_millis(each).alias(name) if kind == "timestamp" else each for kind, each, name in columns)
    )


def ddl_in_ms(table: Table) -> str:
    """The columns of `table` as Spark declares them, times as numbers of milliseconds."""
    kinds = {**SPARK_TYPES, "timestamp": "BIGINT"}
    return ", ".join(f"`{each.name}` {kinds[each.type]}" for each in table.columns)


def _column(column: Column) -> "F.Column":
    value = F.col(f"`{column.name}`")
    if column.type == "timestamp":
        ms = value.cast("BIGINT")
        return F.timestamp_millis(F.when(ms.between(FIRST_TIME_MS, LAST_TIME_MS), ms)).alias(column.name)
    return value.cast(SPARK_TYPES[column.type]).alias(column.name)
