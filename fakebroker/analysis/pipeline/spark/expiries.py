"""Committed offsets that the broker dropped."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from fakebroker.analysis.pipeline.spark.of_table import of_table
from fakebroker.analysis.pipeline.tables.expiries import TABLE


def expiries(events: DataFrame) -> DataFrame:
    """The table `expiries`."""
    found = events.where(F.col("kind") == "offset_expired").withColumns(
        {
            "source": F.col("run"),
            "group_id": F.col("`group`"),
            "committed_offset": F.col("offset"),
            "committed_at": F.col("committed_ms"),
            "due_at": F.col("due_ms"),
            "expired_at": F.col("wall_ms"),
        }
    )
    return of_table(found, TABLE)
