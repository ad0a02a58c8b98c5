"""Where the logs of topics ended, and when."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from fakebroker.analysis.pipeline.spark.of_table import of_table
from fakebroker.analysis.pipeline.tables.log_ends import TABLE


def log_ends(events: DataFrame, live_ends: DataFrame | None = None) -> DataFrame:
    """The table `log_ends`: after each append of a journal, and what live brokers were asked.

    Of lines for the same records only the first counts, as `oracle.log_ends` explains.
    """
    same_append = Window.partitionBy(
        "run", "topic", "partition", "base_offset", "records", "size_bytes", "client"
    ).orderBy("seq", "part")
    appended = (
        events.where(F.col("kind") == "records_appended")
        .withColumn("number", F.row_number().over(same_append))
        .where(F.col("number") == 1)
        .withColumns(
            {
                "source": F.col("run"),
                "log_start_offset": F.lit(None),
                "log_end_offset": F.col("base_offset") + F.col("records"),
                "at": F.col("wall_ms"),
            }
        )
    )
    found = of_table(appended, TABLE)
    return found if live_ends is None else found.unionByName(live_ends)
