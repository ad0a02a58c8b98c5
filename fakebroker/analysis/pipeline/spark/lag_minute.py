"""The table `lag_minute` on Spark."""

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from fakebroker.analysis.pipeline.spark.neighbours import position
from fakebroker.analysis.pipeline.tables.lag_minute import TABLE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_PARTITION: Final = ("source", "topic", "partition")
_KEYS: Final = ("source", "group_id", "topic", "partition")
_GONE: Final = -1


def lag_minute(commits: "DataFrame", log_ends: "DataFrame", expiries: "DataFrame", events: "DataFrame") -> "DataFrame":
    """How far each group was behind at the end of each minute: see the oracle of the same name.

    Everything is reduced to its last value of each minute first, in parallel however large a partition is; a window
    then has the minutes of one group and partition.
    """
    committed = _last_of_minutes(_committed(commits, expiries, events), _KEYS)
    ends = _last_of_minutes(_ends(log_ends), _PARTITION)
    groups = committed.select(*_KEYS).distinct()
    steps = committed.withColumn("end", F.lit(None).cast("long")).unionByName(
        ends.join(groups, on=list(_PARTITION), how="inner")
        .withColumnRenamed("value", "end")
        .withColumn("value", F.lit(None).cast("long"))
    )
    until_here = Window.partitionBy(*_KEYS).orderBy("place").rangeBetween(Window.unboundedPreceding, 0)
    known = steps.select(
        *_KEYS,
        "minute_at",
        "place",
        F.last("value", ignorenulls=True).over(until_here).alias("offset"),
        F.last("end", ignorenulls=True).over(until_here).alias("end"),
        F.col("value").isNotNull().alias("is_own"),
    )
    minutes = known.groupBy(*_KEYS, "minute_at").agg(
        F.nullif(F.max_by("offset", "place"), F.lit(_GONE)).alias("committed_offset"),
        F.max_by("end", "place").alias("log_end_offset"),
        F.max("is_own").alias("is_own"),
    )
    lag = F.col("log_end_offset") - F.col("committed_offset")
    return (
        minutes.where(F.col("committed_offset").isNotNull() | F.col("is_own"))
        .withColumn("lag", lag)
        .select(*TABLE.column_names)
    )


def _committed(commits: "DataFrame", expiries: "DataFrame", events: "DataFrame") -> "DataFrame":
    """What each group had committed for each partition, from when on; -1 once that was gone."""
    is_effective = (F.col("outcome") == "committed") & F.col("applied_at").isNotNull()
    found = commits.where(is_effective).select(
        *_KEYS,
        *_when("applied_at", position(log_offset="applied_log_offset")),
        # A negative one, which Kafka stores, is none to clients.
        F.greatest(F.coalesce("committed_offset", F.lit(_GONE)), F.lit(_GONE)).alias("value"),
    )
    gone = expiries.select(
        *_KEYS, *_when("expired_at", position(log_offset=None)), F.lit(_GONE).cast("long").alias("value")
    )
    deleted = (
        events.where(F.col("kind") == "offset_deleted")
        .withColumns({"source": F.col("run"), "group_id": F.col("group"), "at": F.timestamp_millis("wall_ms")})
        .withColumn("partition", F.col("partition").cast("int"))
        .select(*_KEYS, *_when("at", position(log_offset=None)), F.lit(_GONE).cast("long").alias("value"))
    )
    return found.unionByName(gone).unionByName(deleted)


def _ends(log_ends: "DataFrame") -> "DataFrame":
    place = F.coalesce(position(log_offset=None), F.unix_millis("at"))
    return log_ends.select(*_PARTITION, *_when("at", place), F.col("log_end_offset").alias("value"))


def _when(at: str, place: "Column") -> "tuple[Column, ...]":
    """The minute of something, its place in its history, and whether that is a log."""
    minute = F.date_trunc("minute", at)
    return minute.alias("minute_at"), place.alias("place"), F.col("seq").isNull().alias("is_log")


def _last_of_minutes(changes: "DataFrame", keys: "tuple[str, ...]") -> "DataFrame":
    """The last value of each minute. In a log minutes are in the order of time from then on."""
    last = changes.groupBy(*keys, "minute_at", "is_log").agg(
        F.max_by("value", "place").alias("value"), F.max("place").alias("place")
    )
    placed = F.when(F.col("is_log"), F.unix_millis("minute_at")).otherwise(F.col("place"))
    return last.withColumn("place", placed).drop("is_log")
