"""The states of groups, as spans of time."""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from fakebroker.analysis.pipeline.group_spans import spans
from fakebroker.analysis.pipeline.group_transitions import CLASSIC, LOADED, UNLOADED
from fakebroker.analysis.pipeline.spark.group_records import of_sorted_records
from fakebroker.analysis.pipeline.spark.of_table import of_table
from fakebroker.analysis.pipeline.tables.group_states import TABLE

_FACTS: Final = ("generation", "protocol_type", "protocol", "leader", "members", "subscribed_topics", "state_ms")
_WITHOUT_MEMBERS: Final = ("Empty", "Dead")


def group_states(coordinator_records: DataFrame, events: DataFrame) -> DataFrame:
    """The table `group_states`. The windows are those of a group in one source."""
    found = of_sorted_records(coordinator_records, spans, TABLE).unionByName(
        journal_spans(events), allowMissingColumns=True
    )
    group = Window.partitionBy("source", "group_id").orderBy("log_partition", "log_offset", "seq", "part")
    return of_table(found.withColumn("ended_at", F.lead("began_at").over(group)), TABLE)


def journal_spans(events: DataFrame) -> DataFrame:
    """The spans that begin with `transition` lines, and with a load of a group without members; without their ends.

    What a group is besides is in the `group_stored` lines. Times are numbers of milliseconds.
    """
    group = Window.partitionBy("source", "group_id")
    before = group.orderBy("seq", "part").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    # Backwards, because Spark goes through a frame without an end anew for each row.
    after = group.orderBy(F.desc("seq"), F.desc("part")).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    changes = events.where(F.col("kind").isin("transition", "group_stored")).select(
        F.col("run").alias("source"),
        F.col("`group`").alias("group_id"),
        *("seq", "part", "kind", "wall_ms", "after", "generation", "reason", "how", "members", "state_ms"),
        F.coalesce("group_type", F.lit(CLASSIC)).alias("group_type"),
        F.when(F.col("kind") == "group_stored", F.struct(*_FACTS)).alias("stored"),
    )
    known = changes.withColumn("last", F.last("stored", ignorenulls=True).over(before)).withColumn(
        "next", F.last("stored", ignorenulls=True).over(after)
    )
    return _shown(_beginnings(known))


def _beginnings(known: DataFrame) -> DataFrame:
    """The rows with which spans begin, with the state, and what says how the group is: `facts` and `typed`."""
    is_empty_load = (F.col("how") == "loaded") & (F.col("members") == 0)
    is_transition = F.col("kind") == "transition"
    is_unload = (F.col("after") == "Dead") & F.col("reason").startswith(UNLOADED)
    of_generation = F.coalesce(_if_of_generation("last"), _if_of_generation("next"))
    loaded = F.when(is_transition, F.col("next")).otherwise(F.col("stored"))
    return (
        known.where((is_transition & ~is_unload) | is_empty_load)
        .withColumn("reason", F.coalesce("reason", F.lit(LOADED)))
        .withColumn("state", F.coalesce("after", F.lit("Empty")))
        .withColumn("is_load", F.col("reason") == LOADED)
        .withColumn("facts", F.when(F.col("is_load"), loaded).otherwise(of_generation))
        .withColumn("facts", F.when(~_is_newer(), F.col("facts")))
        .withColumn("typed", F.when(F.col("is_load"), F.col("facts")).otherwise(F.coalesce("facts", "last")))
    )


def _is_newer() -> Column:
    """A newer group, of which a journal does not have the records that say who its members are."""
    return F.col("group_type") != CLASSIC


def _if_of_generation(stored: str) -> Column:
    return F.when(F.col(f"{stored}.generation") == F.col("generation"), F.col(stored))


def _shown(beginnings: DataFrame) -> DataFrame:
    """What a span shows of its group. While members join nobody knows how many there are."""
    is_without = F.col("state").isin(*_WITHOUT_MEMBERS)
    state_ms = F.col("facts.state_ms")
    members = F.when(F.col("state") != "PreparingRebalance", F.col("facts.members"))
    return beginnings.select(
        "source",
        "group_id",
        "group_type",
        "state",
        F.col("generation").cast("INT").alias("generation"),
        F.when(_is_newer(), F.col("group_type")).otherwise(F.col("typed.protocol_type")).alias("protocol_type"),
        F.when(~is_without, F.col("facts.protocol")).alias("protocol"),
        F.when(~is_without, F.col("facts.leader")).alias("leader"),
        F.when(is_without, F.lit(0)).otherwise(members).cast("INT").alias("members"),
        F.when(is_without, F.array().cast("ARRAY<STRING>"))
        .otherwise(F.col("facts.subscribed_topics"))
        .alias("subscribed_topics"),
        F.when(~F.col("is_load") & ~_is_newer(), F.col("wall_ms")).when(state_ms != -1, state_ms).alias("state_at"),
        F.col("wall_ms").alias("began_at"),
        "reason",
        "seq",
        F.col("part").cast("INT").alias("part"),
    )
