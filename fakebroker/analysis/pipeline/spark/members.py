"""Members of groups, by generation."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from fakebroker.analysis.pipeline.group_members import member_rows
from fakebroker.analysis.pipeline.spark.answers import join_answers
from fakebroker.analysis.pipeline.spark.group_records import of_sorted_records
from fakebroker.analysis.pipeline.spark.of_table import of_table
from fakebroker.analysis.pipeline.tables.members import TABLE


def members(coordinator_records: DataFrame, events: DataFrame) -> DataFrame:
    """The table `members`: those that records name, and those whose JoinGroup was answered."""
    recorded = of_sorted_records(coordinator_records, member_rows, TABLE)
    return of_table(recorded.unionByName(_answered(events), allowMissingColumns=True), TABLE)


def _answered(events: DataFrame) -> DataFrame:
    answered = join_answers(events).where(F.col("answer").isNotNull())
    return answered.select(
        "answer.group_id",
        F.lit("classic").alias("group_type"),
        "answer.generation",
        "answer.member_id",
        "answer.group_instance_id",
        F.col("client").alias("client_id"),
        "answer.rebalance_timeout_ms",
        "answer.session_timeout_ms",
        "answer.protocol",
        F.col("answer.topics").alias("subscribed_topics"),
        F.col("wall_ms").alias("at"),
        F.col("run").alias("source"),
        "seq",
        F.col("part").cast("INT").alias("part"),
    )
