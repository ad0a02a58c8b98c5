"""What a loss would have meant: when the group came back, and how far the log of the topic reached then."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from fakebroker.pipeline.spark.retention_states import LIVE_STATES
from fakebroker.pipeline.spark.retention_time import GROUP, Clock


def with_comebacks(losses: DataFrame, states: DataFrame, clock: Clock, log_ends: DataFrame) -> DataFrame:
    """The losses with `came_back_ms`, `read_again_records` and `skipped_records`."""
    live = clock.count(states.where(F.col("state").isin(*LIVE_STATES)), "own", "ms").select(
        *GROUP, "passes", F.col("ms").alias("live_ms"), "subscribed_topics"
    )
    place = [*GROUP, "topic", "lost_pass"]
    known = losses.withColumn("lost_pass", F.col("lost.pass"))
    reads_it = F.col("subscribed_topics").isNull() | F.array_contains("subscribed_topics", F.col("topic"))
    returned = (
        known.select(*place)
        .distinct()
        .join(live, [*GROUP], how="inner")
        .where((F.col("passes") >= F.col("lost_pass")) & reads_it)
        .groupBy(*place)
        .agg(F.min("live_ms").alias("live_ms"))
    )
    back = known.join(returned, place, how="left").withColumn("came_back_ms", F.least("next_commit_ms", "live_ms"))
    return _with_records(back, log_ends)


def _with_records(back: DataFrame, log_ends: DataFrame) -> DataFrame:
    """The end of the log that was known last decides; of several at the same time the highest."""
    moment = ["source", "topic", "partition", "came_back_ms"]
    ends = log_ends.select(
        "source",
        "topic",
        "partition",
        F.unix_millis("at").alias("end_ms"),
        F.col("log_end_offset").alias("log_end"),
        F.col("log_start_offset").alias("log_start"),
    )
    latest = (
        back.select(*moment)
        .where(F.col("came_back_ms").isNotNull())
        .distinct()
        .join(ends, ["source", "topic", "partition"], how="inner")
        .where(F.col("end_ms") <= F.col("came_back_ms"))
        .groupBy(*moment)
        .agg(F.max(F.struct("end_ms", "log_end", "log_start")).alias("latest"))
    )
    zero = F.lit(0).cast("long")
    joined = back.join(latest, moment, how="left")
    end, start, lost = F.col("latest.log_end"), F.col("latest.log_start"), F.col("committed_offset")
    read_again = F.when(start.isNotNull(), F.greatest(F.least(lost, end) - start, zero))
    skipped = F.when(end.isNotNull(), F.greatest(end - lost, zero))
    return joined.withColumn("read_again_records", read_again).withColumn("skipped_records", skipped)
