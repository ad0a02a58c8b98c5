"""Lines of journals, each once."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from fakebroker.analysis.pipeline.spark.of_table import of_table
from fakebroker.analysis.pipeline.tables.events import TABLE


def events(journal_lines: DataFrame) -> DataFrame:
    """The table `events`: of the lines with the same (run, seq, part) the one that is first by file and line."""
    same_event = Window.partitionBy("run", "seq", "part").orderBy("file", "line")
    found = (
        journal_lines.where(F.col("reject_reason").isNull())
        .withColumn("number", F.row_number().over(same_event))
        .where(F.col("number") == 1)
    )
    return of_table(found, TABLE)
