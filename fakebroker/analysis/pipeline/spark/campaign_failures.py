"""Failures of a campaign, ranked, on Spark."""

from typing import TYPE_CHECKING

from fakebroker.analysis.pipeline.tables.campaign_failures import TABLE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def campaign_failures(campaign_runs: "DataFrame") -> "DataFrame":
    """A row for each way in which runs of a scenario failed, the most frequent first."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    of_runs = campaign_runs.groupBy("scenario").agg(F.count("*").alias("of_runs"))
    # The least struct is that of the lowest seed, and of its settings that come first: no two runs have both alike.
    first = F.struct("seed", "settings", "line", "failure", "repeat")
    failures = (
        campaign_runs.where(F.col("outcome") != "passed")
        .groupBy("scenario", "signature")
        .agg(F.count("*").alias("runs"), F.min(first).alias("first"))
    )
    # In one task, over a row for each way to fail: few, however many runs there were.
    order = Window.orderBy(F.col("runs").desc(), F.col("scenario"), F.col("signature"))
    return (
        failures.join(of_runs, on="scenario", how="inner")
        .withColumn("rank", F.row_number().over(order))
        .withColumn("first_seed", F.col("first.seed"))
        .select("*", *(F.col(f"first.{name}").alias(name) for name in ("settings", "line", "failure", "repeat")))
        .select(*TABLE.column_names)
    )
