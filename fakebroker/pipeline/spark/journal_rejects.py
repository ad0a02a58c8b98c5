"""Lines of journals that cannot be read, or that contradict another line."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from fakebroker.pipeline.oracle.journal_rejects import CONTRADICTION
from fakebroker.pipeline.spark.of_table import of_table
from fakebroker.pipeline.tables import journal_lines as lines_table
from fakebroker.pipeline.tables.rejects import TABLE

_NO_CONTENT = ("file", "line", "reject_reason", "reject_sample")


def journal_rejects(journal_lines: DataFrame) -> DataFrame:
    """The rows of the table `rejects` that journals give, as `oracle.journal_rejects` explains."""
    is_reject = F.col("reject_reason").isNotNull()
    unread = journal_lines.where(is_reject).select(
        "run", "file", "line", F.col("reject_reason").alias("reason"), F.col("reject_sample").alias("sample")
    )
    found = unread.unionByName(_contradictions(journal_lines.where(~is_reject))).withColumns(
        {
            "source": F.coalesce("run", "file"),
            "position": F.col("line"),
            "log_partition": F.lit(None),
            "log_offset": F.lit(None),
        }
    )
    return of_table(found, TABLE).dropDuplicates(["source", "file", "position", "reason"])


def _contradictions(events: DataFrame) -> DataFrame:
    """Lines with the (run, seq, part) of an event and another content."""
    same_event = Window.partitionBy("run", "seq", "part").orderBy("file", "line")
    content = F.struct(*(F.col(f"`{name}`") for name in lines_table.TABLE.column_names if name not in _NO_CONTENT))
    return (
        events.withColumn("content", content)
        .withColumn("first", F.first("content").over(same_event))
        .where(F.col("content") != F.col("first"))
        .select(
            "run",
            "file",
            "line",
            F.lit(CONTRADICTION).alias("reason"),
            F.concat_ws("", "kind", F.lit(" "), "seq", F.lit("."), "part").alias("sample"),
        )
    )
