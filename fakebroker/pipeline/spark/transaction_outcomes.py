"""Which transactions were committed, on Spark as `fakebroker.history.transactions` says in plain Python (KIP-98).

What decides about a record is the first marker of its producer behind it in its partition, if the marker's epoch is not
older. Records and markers are put in order within buckets of offsets, so that a producer that wrote nearly everything
is not the work of one task; where a bucket has no marker any more, that of a later bucket is known from a small table.
"""

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql.window import Window

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_PRODUCER: Final = ("source", "log_partition", "producer_id")
_BUCKET_OFFSETS: Final = 100_000


def with_outcomes(records: "DataFrame", markers: "DataFrame") -> "DataFrame":
    """Commits of transactions with the columns `outcome`, `applied_at` and `applied_log_offset`.

    Args:
        records: Rows of `decoded` that are commits in a transaction, each record once.
        markers: Rows of `decoded` that are markers, each once.
    """
    markers = markers.where(F.col("producer_id").isNotNull()).select(*_PRODUCER, _marker().alias("marker"))
    found = _with_next_marker(records, markers)
    is_older = F.col("marker.epoch") < _epoch()
    decided = found.where(F.coalesce(~is_older, F.lit(True)))
    rest = found.where(is_older).drop("marker")
    return _decided(decided.unionByName(_with_newer_marker(rest, markers)))


def _marker() -> "Column":
    """What of a marker matters; such structs are in the order of the log."""
    return F.struct(
        F.col("log_offset").alias("log_offset"), _epoch().alias("epoch"), F.col("kind").alias("kind"), F.col("at")
    )


def _epoch() -> "Column":
    return F.coalesce(F.col("producer_epoch"), F.lit(0))


def _bucket(log_offset: str) -> "Column":
    return F.floor(F.col(log_offset) / F.lit(_BUCKET_OFFSETS)).alias("bucket")


def _with_next_marker(records: "DataFrame", markers: "DataFrame") -> "DataFrame":
    """Records with the first marker behind them, whatever its epoch; null where there is none."""
    both = records.select("*", _bucket("log_offset"), F.lit(None).alias("marker")).unionByName(
        markers.select("*", F.col("marker.log_offset").alias("log_offset"), _bucket("marker.log_offset")),
        allowMissingColumns=True,
    )
    behind = (
        Window.partitionBy(*_PRODUCER, "bucket")
        .orderBy(F.col("log_offset"))
        .rowsBetween(Window.currentRow, Window.unboundedFollowing)
    )
    in_bucket = both.withColumn("here", F.first("marker", ignorenulls=True).over(behind))
    in_bucket = in_bucket.where(F.col("marker").isNull()).drop("marker")
    joined = in_bucket.join(_later_markers(both), on=[*_PRODUCER, "bucket"], how="left")
    return joined.withColumn("marker", F.coalesce("here", "later")).drop("here", "later", "bucket")


def _later_markers(both: "DataFrame") -> "DataFrame":
    """For each bucket of a producer the first marker in a later bucket: a row for each bucket."""
    later = Window.partitionBy(*_PRODUCER).orderBy("bucket").rowsBetween(1, Window.unboundedFollowing)
    first = both.groupBy(*_PRODUCER, "bucket").agg(F.min("marker").alias("first"))
    return first.select(*_PRODUCER, "bucket", F.first("first", ignorenulls=True).over(later).alias("later"))


def _with_newer_marker(records: "DataFrame", markers: "DataFrame") -> "DataFrame":
    """Records behind which a marker of an older epoch stands, with the first one that is not older. They are rare."""
    left = records.select("*", F.struct(*_PRODUCER, "log_offset").alias("place"))
    right = markers.select(*(F.col(name).alias(f"marker_{name}") for name in _PRODUCER), "marker")
    same = [F.col(name) == F.col(f"marker_{name}") for name in _PRODUCER]
    candidates = left.join(
        right,
        on=[*same, F.col("marker.log_offset") > F.col("log_offset"), F.col("marker.epoch") >= _epoch()],
        how="inner",
    )
    chosen = candidates.groupBy("place").agg(F.min("marker").alias("marker"))
    return left.join(chosen, on="place", how="left").drop("place")


def _decided(found: "DataFrame") -> "DataFrame":
    is_committed = F.col("marker.kind") == "commit"
    outcome = F.when(is_committed, "committed").when(F.col("marker").isNull(), "open").otherwise("aborted")
    return found.select(
        "*",
        outcome.alias("outcome"),
        F.when(is_committed, F.col("marker.at")).alias("applied_at"),
        F.when(is_committed, F.col("marker.log_offset")).alias("applied_log_offset"),
    )
