"""Assigned partitions, by generation and member."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from fakebroker.analysis.pipeline.group_members import assignment_rows
from fakebroker.analysis.pipeline.spark.answers import sync_answers
from fakebroker.analysis.pipeline.spark.group_records import of_sorted_records
from fakebroker.analysis.pipeline.spark.of_table import of_table
from fakebroker.analysis.pipeline.tables.assignments import TABLE


def assignments(coordinator_records: DataFrame, events: DataFrame) -> DataFrame:
    """The table `assignments`: what records assign, and what members got in answers to SyncGroup."""
    recorded = of_sorted_records(coordinator_records, assignment_rows, TABLE)
    return of_table(recorded.unionByName(_answered(events), allowMissingColumns=True), TABLE)


def _answered(events: DataFrame) -> DataFrame:
    answered = sync_answers(events).withColumn("answered", F.explode("answer.partitions"))
    return answered.select(
        "answer.group_id",
        F.lit("classic").alias("group_type"),
        "answer.generation",
        "answer.member_id",
        "answered.topic",
        "answered.partition",
        F.col("wall_ms").alias("at"),
        F.col("run").alias("source"),
        "seq",
        F.col("part").cast("INT").alias("part"),
    )
