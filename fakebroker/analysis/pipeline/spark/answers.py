"""What brokers answered to JoinGroup and SyncGroup, from the lines of a journal that have the messages."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from fakebroker.analysis.pipeline.group_answers import join_answer, sync_answer

_JOIN: Final = (
    "STRUCT<group_id: STRING, generation: INT, member_id: STRING, group_instance_id: STRING, rebalance_timeout_ms: INT,"
    " session_timeout_ms: INT, protocol_type: STRING, protocol: STRING, topics: ARRAY<STRING>>"
)
_SYNC: Final = (
    "STRUCT<group_id: STRING, generation: INT, member_id: STRING,"
    " partitions: ARRAY<STRUCT<topic: STRING, partition: INT>>>"
)


def join_answers(events: DataFrame) -> DataFrame:
    """The lines of JoinGroup that went well, with `answer` (`group_answers.JoinAnswer`)."""
    return _answered(events, "JoinGroup").withColumn(
        "answer", F.udf(join_answer, _JOIN, useArrow=True)("request", "response")
    )


def sync_answers(events: DataFrame) -> DataFrame:
    """The lines of SyncGroup that went well, with `answer` (`group_answers.SyncAnswer`)."""
    return _answered(events, "SyncGroup").withColumn(
        "answer", F.udf(sync_answer, _SYNC, useArrow=True)("request", "response")
    )


def _answered(events: DataFrame, api: str) -> DataFrame:
    return events.where(
        (F.col("kind") == "request")
        & (F.col("api") == api)
        & (F.size("errors") == 0)
        & F.col("request").isNotNull()
        & F.col("response").isNotNull()
    )
