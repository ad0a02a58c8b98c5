"""The table `protocol_coverage` on Spark."""

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - its usual name

from fakebroker.analysis.pipeline.oracle.protocol_coverage import MAX_CLIENTS, NO_ANSWER, NO_ERROR
from fakebroker.analysis.pipeline.served_versions import served_versions
from fakebroker.analysis.pipeline.tables.protocol_coverage import TABLE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_CELL: Final = ("api", "api_key", "version", "error")


def protocol_coverage(requests: "DataFrame", events: "DataFrame") -> "DataFrame":
    """A row for each API, version and error that was seen, and for each version that was served and not asked for."""
    return _seen(requests).unionByName(_unseen(requests, events)).select(*TABLE.column_names)


def _seen(requests: "DataFrame") -> "DataFrame":
    none = F.array(F.lit(NO_ERROR))
    errors = (
        F.when(~F.col("is_answered"), F.array(F.lit(NO_ANSWER)))
        .when(F.size("errors") == 0, none)
        .otherwise(F.array_distinct("errors"))
    )
    return (
        requests.withColumn("error", F.explode(errors))
        .groupBy(*_CELL)
        .agg(
            F.lit(True).alias("is_seen"),
            F.count("*").alias("requests"),
            F.slice(F.sort_array(F.collect_set("client_id")), 1, MAX_CLIENTS).alias("clients"),
            F.percentile("waited_ms", F.lit(0.5)).alias("waited_ms_p50"),
            F.percentile("waited_ms", F.lit(0.99)).alias("waited_ms_p99"),
        )
    )


def _unseen(requests: "DataFrame", events: "DataFrame") -> "DataFrame":
    served = requests.sparkSession.createDataFrame(
        [tuple(each) for each in served_versions()], "release STRING, api STRING, api_key INT, version INT"
    )
    releases = events.where(F.col("kind") == "broker_started").select("release").distinct()
    asked_for = requests.select("api_key", "version").distinct()
    return (
        served.join(releases, on="release", how="left_semi")
        .join(asked_for, on=["api_key", "version"], how="left_anti")
        .select("api", "api_key", "version")
        .distinct()
        .select(
            "api",
            "api_key",
            "version",
            F.lit(NO_ERROR).alias("error"),
            F.lit(False).alias("is_seen"),
            F.lit(0).cast("long").alias("requests"),
            F.array().cast("array<string>").alias("clients"),
            F.lit(None).cast("double").alias("waited_ms_p50"),
            F.lit(None).cast("double").alias("waited_ms_p99"),
        )
    )
