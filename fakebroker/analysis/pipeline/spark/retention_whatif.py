"""What other retentions would have cost each group, on Spark."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from fakebroker.analysis.pipeline.tables.retention_losses import WhatifOptions
from fakebroker.analysis.pipeline.tables.retention_whatif import TABLE


def retention_whatif(
    commits: DataFrame, retention_losses: DataFrame, *, options: WhatifOptions | None = None
) -> DataFrame:
    """A row for each group that ever committed and each retention: see the contract."""
    retentions = sorted(set((options or WhatifOptions()).retentions_ms))
    groups = (
        commits.where(F.col("committed_offset").isNotNull())
        .select("source", "group_id", "topic", "partition")
        .distinct()
        .groupBy("source", "group_id")
        .agg(F.count("*").alias("partitions"))
    )
    tried = groups.withColumn("retention_ms", F.explode(F.array(*[F.lit(each).cast("long") for each in retentions])))
    keys = ["source", "group_id", "retention_ms"]
    lost = retention_losses.groupBy(*keys).agg(
        F.count("*").alias("lost_offsets"),
        F.countDistinct("topic", "partition").alias("lost_partitions"),
        F.min("lost_at").alias("first_lost_at"),
        F.max("lost_at").alias("last_lost_at"),
        F.count("came_back_at").alias("reset_offsets"),
        F.sum("read_again_records").alias("read_again_records"),
        F.sum("skipped_records").alias("skipped_records"),
    )
    joined = tried.join(lost, keys, how="left")
    for name in ("lost_offsets", "lost_partitions", "reset_offsets"):
        joined = joined.withColumn(name, F.coalesce(F.col(name), F.lit(0).cast("long")))
    return joined.withColumn("came_back", F.col("reset_offsets") > 0).select(*TABLE.column_names)
