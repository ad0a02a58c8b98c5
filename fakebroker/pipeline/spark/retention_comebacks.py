"""What a loss would have meant: when the group came back, and how far the log of the topic reached then."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from fakebroker.pipeline.spark.retention_time import GROUP, KEY


def with_comebacks(losses: DataFrame, timelines: DataFrame, log_ends: DataFrame) -> DataFrame:
    """The losses with `came_back_ms`, `read_again_records` and `skipped_records`."""
    returns = F.filter(
        "lives",
        lambda each: (
            (each["passes"] >= F.col("lost.pass"))
            & (each["subscribed_topics"].isNull() | F.array_contains(each["subscribed_topics"], F.col("topic")))
        ),
    )
    first_return = F.array_min(F.transform(returns, lambda each: F.struct(each["place"], each["ms"])))
    commits_first = F.col("live").isNull() | (F.col("next_place") < F.col("live.place"))
    back = (
        losses.join(F.broadcast(timelines.select(*GROUP, "lives")), [*GROUP], how="left")
        .withColumn("live", first_return)
        .withColumn(
            "came_back_ms",
            F.when(F.coalesce(commits_first, F.lit(False)), F.col("next_ms")).otherwise(F.col("live.ms")),
        )
        .drop("lives", "live")
    )
    return _with_records(back, log_ends)


def _with_records(back: DataFrame, log_ends: DataFrame) -> DataFrame:
    """The end of the log that was known last decides; of several at the same time the highest."""
    columns = [*KEY, "own", "retention_ms", "committed_offset", "committed_ms", "since_ms", "lost", "came_back_ms"]
    ends = log_ends.select(
        F.col("source").alias("end_source"),
        F.col("topic").alias("end_topic"),
        F.col("partition").alias("end_partition"),
        F.unix_millis("at").alias("end_ms"),
        F.col("log_end_offset").alias("log_end"),
        F.col("log_start_offset").alias("log_start"),
    )
    is_known = (
        (F.col("source") == F.col("end_source"))
        & (F.col("topic") == F.col("end_topic"))
        & (F.col("partition") == F.col("end_partition"))
        & (F.col("end_ms") <= F.col("came_back_ms"))
    )
    joined = (
        back.join(ends, is_known, how="left")
        .groupBy(*columns)
        .agg(F.max(F.struct("end_ms", "log_end", "log_start")).alias("latest"))
    )
    zero = F.lit(0).cast("long")
    end, start, lost = F.col("latest.log_end"), F.col("latest.log_start"), F.col("committed_offset")
    is_none = lost < 0  # to clients, which begin where they would after the loss
    read_again = F.when(is_none, zero).otherwise(F.greatest(F.least(lost, end) - start, zero))
    skipped = F.when(is_none, zero).otherwise(F.greatest(end - lost, zero))
    read_again, skipped = F.when(start.isNotNull(), read_again), F.when(end.isNotNull(), skipped)
    return joined.withColumn("read_again_records", read_again).withColumn("skipped_records", skipped)
