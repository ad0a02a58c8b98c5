"""The states of groups, as spans of time."""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from fakebroker.pipeline.group_spans import spans
from fakebroker.pipeline.group_transitions import LOADED, UNLOADED
from fakebroker.pipeline.spark.answers import join_answers
from fakebroker.pipeline.spark.of_table import of_table
from fakebroker.pipeline.spark.replay import replay
from fakebroker.pipeline.tables.group_states import TABLE

_WITHOUT_MEMBERS: Final = ("Empty", "Dead")


def group_states(coordinator_records: DataFrame, events: DataFrame) -> DataFrame:
    """The table `group_states`. The windows are those of a group in one source."""
    found = replay(coordinator_records, spans, TABLE).unionByName(journal_spans(events), allowMissingColumns=True)
    group = Window.partitionBy("source", "group_id").orderBy("log_partition", "log_offset", "seq", "part")
    return of_table(found.withColumn("ended_at", F.lead("began_at").over(group)), TABLE)


def journal_spans(events: DataFrame) -> DataFrame:
    """The spans that begin with `transition` lines, but for their ends; times are numbers of milliseconds."""
    steps = _transitions(events).unionByName(_answers(events), allowMissingColumns=True)
    group = Window.partitionBy("source", "group_id").orderBy("seq", "part")
    so_far = group.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    led = F.when(F.col("answer.members").isNotNull(), F.col("answer"))
    known = (
        steps.withColumn("led", F.last(led, ignorenulls=True).over(so_far))
        .withColumn("answered", F.last("answer", ignorenulls=True).over(so_far))
        .withColumn("stored", F.last("writes", ignorenulls=True).over(group.rowsBetween(Window.unboundedPreceding, -1)))
        .where(F.col("after").isNotNull())
        .withColumn("stored", F.when(F.col("stored.state") != "Dead", F.col("stored")))
    )
    return _shown(known)


def _transitions(events: DataFrame) -> DataFrame:
    """`writes` is what the log has of the group after the transition, or Dead when it has nothing."""
    is_unload = (F.col("after") == "Dead") & F.col("reason").startswith(UNLOADED)
    is_written = F.col("after").isin("Stable", "Empty", "Dead") & ~is_unload & (F.col("reason") != LOADED)
    written = F.struct(F.col("after").alias("state"), "generation", F.col("wall_ms").alias("at"))
    return events.where(F.col("kind") == "transition").select(
        F.col("run").alias("source"),
        F.col("`group`").alias("group_id"),
        "seq",
        "part",
        "wall_ms",
        "after",
        "generation",
        "reason",
        is_unload.alias("is_unload"),
        F.when(is_written, written).alias("writes"),
    )


def _answers(events: DataFrame) -> DataFrame:
    answered = join_answers(events).where(F.col("answer").isNotNull())
    return answered.select(
        F.col("run").alias("source"), F.col("answer.group_id").alias("group_id"), "seq", "part", "answer"
    )


def _shown(known: DataFrame) -> DataFrame:
    """What a transition shows of its group: of an unloaded one, what the log has."""
    is_unload, stored = F.col("is_unload"), F.col("stored")
    return (
        known.withColumn(
            "state", F.when(is_unload, F.coalesce("stored.state", F.lit("Empty"))).otherwise(F.col("after"))
        )
        .withColumn(
            "generation",
            F.when(is_unload, F.coalesce("stored.generation", F.lit(0))).otherwise(F.col("generation")),
        )
        .withColumn(
            "state_at",
            F.when(is_unload | (F.col("reason") == LOADED), F.col("stored.at")).otherwise(F.col("wall_ms")),
        )
        .select(
            "source",
            "group_id",
            F.lit("classic").alias("group_type"),
            "state",
            F.col("generation").cast("INT").alias("generation"),
            F.when(is_unload & stored.isNull(), F.lit(""))
            .otherwise(F.col("answered.protocol_type"))
            .alias("protocol_type"),
            _of_generation("answered", "protocol"),
            _of_generation("answered", "leader"),
            *_members(),
            "state_at",
            F.col("wall_ms").alias("began_at"),
            "reason",
            "seq",
            "part",
        )
    )


def _of_generation(answer: str, name: str) -> Column:
    """A field of an answer for the span's generation; null where there are no members."""
    is_told = (F.col(f"{answer}.generation") == F.col("generation")) & ~F.col("state").isin(*_WITHOUT_MEMBERS)
    return F.when(is_told, F.col(f"{answer}.{name}")).alias(name)


def _members() -> tuple[Column, Column]:
    """How many members there are and what they subscribe to. While they join nobody knows how many there are."""
    is_without = F.col("state").isin(*_WITHOUT_MEMBERS)
    told = F.when(F.col("state") != "PreparingRebalance", _of_generation("led", "members"))
    topics = F.when(is_without, F.array().cast("ARRAY<STRING>")).otherwise(_of_generation("led", "group_topics"))
    return F.when(is_without, F.lit(0)).otherwise(told).alias("members"), topics.alias("subscribed_topics")
