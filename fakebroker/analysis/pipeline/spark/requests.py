"""Requests of clients."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from fakebroker.analysis.pipeline.spark.of_table import of_table
from fakebroker.analysis.pipeline.tables.requests import TABLE


def requests(events: DataFrame) -> DataFrame:
    """The table `requests`."""
    found = events.where(F.col("kind") == "request").withColumns(
        {
            "source": F.col("run"),
            "received_at": F.col("received_wall_ms"),
            "answered_at": F.col("wall_ms"),
            "client_id": F.col("client"),
        }
    )
    return of_table(found, TABLE)
