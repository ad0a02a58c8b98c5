"""Which transactions were committed, on Spark as `analysis.history.transactions` says in plain Python (KIP-98).

What decides about a record is the first marker of its producer behind it in its partition whose epoch is not older.
Rows are put in order within buckets of offsets, so that a producer that wrote nearly everything is not the work of one
task; behind the bucket's last marker, a small table tells the first one of each later bucket.
"""

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - its usual name

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_PRODUCER: Final = ("source", "log_partition", "producer_id")
_BUCKET_OFFSETS: Final = 100_000
# Of a producer's next markers so many are looked at. A leader refuses markers of an older epoch, so it is the first.
_MARKERS_AHEAD: Final = 3


def is_marker() -> "Column":
    """Whether a row of `decoded` is the marker of a transaction."""
    return (F.col("what") == "record") & F.col("kind").isin("commit", "abort")


def with_outcomes(rows: "DataFrame", markers: "DataFrame") -> "DataFrame":
    """Commits with the columns `outcome`, `applied_at` and `applied_log_offset`.

    Args:
        rows: Rows of `decoded`, each record once: commits, and all markers of their producers.
        markers: The markers once more.
    """
    marker = F.when(is_marker() & F.col("producer_id").isNotNull(), _marker())
    ahead = [F.expr(_ahead(number)).alias(f"ahead_{number}") for number in range(1, _MARKERS_AHEAD + 1)]
    in_order = rows.withColumn("bucket", _bucket()).withColumn("marker", marker).select("*", *ahead)
    commits = in_order.where(F.col("what") == "commit")
    joined = commits.join(_first_of_buckets(markers), on=list(_PRODUCER), how="left")
    in_bucket = F.array(*(F.col(f"ahead_{number}") for number in range(1, _MARKERS_AHEAD + 1)))
    behind = F.filter("firsts", lambda each: each["bucket"] > F.col("bucket"))
    deciding = F.coalesce(_first(in_bucket), _first(F.transform(behind, lambda each: each["marker"])))
    return _decided(joined.withColumn("marker", deciding))


def _marker() -> "Column":
    """What of a marker matters; such structs are in the order of the log."""
    return F.struct(
        F.col("log_offset").alias("log_offset"),
        F.coalesce(F.col("producer_epoch"), F.lit(0)).alias("epoch"),
        F.col("kind").alias("kind"),
        F.col("at").alias("at"),
    )


def _bucket() -> "Column":
    return F.floor(F.col("log_offset") / F.lit(_BUCKET_OFFSETS))


def _ahead(number: int) -> str:
    """The marker that many markers ahead in the bucket."""
    columns = ", ".join((*_PRODUCER, "bucket"))
    return f"lead(marker, {number}) IGNORE NULLS OVER (PARTITION BY {columns} ORDER BY log_offset)"


def _first(markers: "Column") -> "Column":
    """The first marker that is not of an older epoch than the row."""
    epoch = F.coalesce(F.col("producer_epoch"), F.lit(0))
    return F.get(F.filter(markers, lambda each: each["epoch"] >= epoch), F.lit(0))


def _first_of_buckets(markers: "DataFrame") -> "DataFrame":
    """For each producer the first marker of every bucket that has one, in their order."""
    found = markers.where(F.col("producer_id").isNotNull()).select(
        *_PRODUCER, _bucket().alias("bucket"), _marker().alias("marker")
    )
    firsts = found.groupBy(*_PRODUCER, "bucket").agg(F.min("marker").alias("marker"))
    return firsts.groupBy(*_PRODUCER).agg(F.sort_array(F.collect_list(F.struct("bucket", "marker"))).alias("firsts"))


def _decided(found: "DataFrame") -> "DataFrame":
    is_plain = ~F.col("transactional")
    is_committed = F.coalesce(F.col("marker.kind") == "commit", F.lit(False))
    outcome = F.when(is_plain | is_committed, "committed").when(F.col("marker").isNull(), "open").otherwise("aborted")
    return found.select(
        "*",
        outcome.alias("outcome"),
        F.when(is_plain, F.col("at")).when(is_committed, F.col("marker.at")).alias("applied_at"),
        F.when(is_plain, F.col("log_offset"))
        .when(is_committed, F.col("marker.log_offset"))
        .alias("applied_log_offset"),
    )
