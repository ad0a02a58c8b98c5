"""What a loss would have meant: when the group came back, and how far the log of the topic reached then."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from fakebroker.analysis.pipeline.spark.retention_time import GROUP


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
    """The end of the log that was known last decides; of several at the same time the highest.

    Returns and ends are put in one order of time: a join would meet every return with every end before it.
    """
    returns = back.withColumn("at_ms", F.col("came_back_ms")).withColumn("is_end", F.lit(False))
    at_ms = F.unix_millis("at")
    end = F.struct(
        at_ms.alias("ms"), F.col("log_end_offset").alias("log_end"), F.col("log_start_offset").alias("log_start")
    )
    ends = log_ends.select(
        "source", "topic", "partition", at_ms.alias("at_ms"), F.lit(True).alias("is_end"), end.alias("end")
    )
    # A group that never came back is before all ends, where nothing is known.
    until_then = (
        Window.partitionBy("source", "topic", "partition")
        .orderBy(F.asc_nulls_first("at_ms"), F.desc("is_end"))
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    known = (
        returns.unionByName(ends, allowMissingColumns=True)
        .withColumn("latest", F.max("end").over(until_then))
        .where(~F.col("is_end"))
        .drop("at_ms", "is_end", "end")
    )
    zero = F.lit(0).cast("long")
    end_offset, start, lost = F.col("latest.log_end"), F.col("latest.log_start"), F.col("committed_offset")
    is_none = lost < 0  # to clients, which begin where they would after the loss
    read_again = F.when(is_none, zero).otherwise(F.greatest(F.least(lost, end_offset) - start, zero))
    skipped = F.when(is_none, zero).otherwise(F.greatest(end_offset - lost, zero))
    read_again, skipped = F.when(start.isNotNull(), read_again), F.when(end_offset.isNotNull(), skipped)
    return known.withColumn("read_again_records", read_again).withColumn("skipped_records", skipped)
