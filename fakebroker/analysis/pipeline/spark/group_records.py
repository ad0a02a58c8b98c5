"""Records of groups on Spark, read group by group in the order of their logs by the functions of plain Python."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from fakebroker.analysis.pipeline.contract import Table
from fakebroker.analysis.pipeline.group_records import COLUMNS, KIND_PATTERN, ORDER
from fakebroker.analysis.pipeline.spark.arrow_rows import batches_of, rows_of
from fakebroker.analysis.pipeline.spark.of_table import ddl_in_ms

Row = dict[str, Any]


def of_sorted_records(
    coordinator_records: DataFrame, function: Callable[[Iterable[Row]], Iterable[Row]], table: Table
) -> DataFrame:
    """The rows of `table` that `function` makes of the sorted records; times are numbers of milliseconds.

    A group is in one task, which holds no more than a batch of its records at a time.
    """
    records = (
        coordinator_records.where(F.col("kind").rlike(KIND_PATTERN))
        .withColumn("at", F.unix_millis("at"))
        .select(*COLUMNS)
        .repartition("source", "group_id")
        .sortWithinPartitions(*ORDER)
    )

    def made(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return batches_of(table, function(rows_of(batches)))

    return records.mapInArrow(made, ddl_in_ms(table))
