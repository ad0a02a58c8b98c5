"""Lines of journals that cannot be read, or that contradict another line."""

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from fakebroker.analysis.pipeline.oracle.journal_rejects import CONTRADICTION
from fakebroker.analysis.pipeline.spark.of_table import of_table
from fakebroker.analysis.pipeline.tables.events import TABLE as EVENTS
from fakebroker.analysis.pipeline.tables.rejects import TABLE

_KEY: Final = ("run", "seq", "part")
_PLACE: Final = ("file", "line")


def journal_rejects(journal_lines: DataFrame, events: DataFrame | None = None) -> DataFrame:
    """The rows of the table `rejects` that journals give, as `oracle.journal_rejects` explains."""
    is_reject = F.col("reject_reason").isNotNull()
    unread = journal_lines.where(is_reject).select(
        "run", *_PLACE, F.col("reject_reason").alias("reason"), F.col("reject_sample").alias("sample")
    )
    new = _with_content(journal_lines.where(~is_reject)).withColumn("is_new", F.lit(True))
    found = unread.unionByName(_contradictions(new if events is None else _with_known(new, events))).withColumns(
        {
            "source": F.coalesce("run", "file"),
            "position": F.col("line"),
            "log_partition": F.lit(None),
            "log_offset": F.lit(None),
        }
    )
    return of_table(found, TABLE).dropDuplicates(["source", "file", "position", "reason"])


def _with_content(events: DataFrame) -> DataFrame:
    """Key and place of events, and what else they say as one column."""
    content = F.struct(*(F.col(f"`{name}`") for name in EVENTS.column_names if name not in _PLACE))
    return events.select(*_KEY, *_PLACE, "kind", content.alias("content"))


def _with_known(new: DataFrame, events: DataFrame) -> DataFrame:
    """Before the new lines what is known of their keys."""
    known = events.join(new.select(*_KEY).distinct(), on=list(_KEY), how="left_semi")
    return new.unionByName(_with_content(known).withColumn("is_new", F.lit(False)))


def _contradictions(events: DataFrame) -> DataFrame:
    """New lines with the (run, seq, part) of an event and another content."""
    same_event = Window.partitionBy(*_KEY).orderBy("is_new", *_PLACE)
    return (
        events.withColumn("first", F.first("content").over(same_event))
        .where(F.col("is_new") & (F.col("content") != F.col("first")))
        .select(
            "run",
            *_PLACE,
            F.lit(CONTRADICTION).alias("reason"),
            F.concat_ws("", "kind", F.lit(" "), "seq", F.lit("."), "part").alias("sample"),
        )
    )
