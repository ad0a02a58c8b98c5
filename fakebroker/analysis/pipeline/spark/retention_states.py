"""How the offsets of groups age, from the states of groups: as they were recorded, and at each cleanup of a what-if.

An aging is the struct that `aging_of` in `expiry_due.py` makes.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from fakebroker.analysis.pipeline.expiry_cases import EMPTY
from fakebroker.analysis.pipeline.group_transitions import UNLOADED
from fakebroker.analysis.pipeline.spark.expiry_due import aging_of, simple_aging
from fakebroker.analysis.pipeline.spark.retention_time import GROUP, LONG_AGO, Clock, kept, places
from fakebroker.analysis.pipeline.tables.retention_losses import WhatifOptions

LATER = 1 << 62  # a place behind all others
LIVE_STATES = ("Stable", "Assigning", "Reconciling")


def state_rows(group_states: DataFrame, policy: str) -> DataFrame:
    """States with their place and aging."""
    return places(group_states).select(
        *GROUP,
        "own",
        F.unix_millis("began_at").alias("ms"),
        F.unix_millis("began_at").alias("raw_ms"),
        "state",
        "subscribed_topics",
        "reason",
        _state_aging(policy).alias("aging"),
    )


def recorded_states(states: DataFrame) -> DataFrame:
    """Each state with the places between which it was in force."""
    by_group = Window.partitionBy(*GROUP).orderBy("own")
    return states.select(
        *GROUP,
        F.col("own").alias("place_from"),
        F.coalesce(F.lead("own").over(by_group), F.lit(LATER)).alias("place_to"),
        "aging",
    )


def asked_states(states: DataFrame, gone: DataFrame) -> DataFrame:
    """The states without groups' ends that a cleanup, or a move of the coordinator, made; `gone` are deletions."""
    deleted_at = (
        gone.where(F.col("log_part") >= 0)
        .select(*GROUP, F.col("raw_ms"))
        .distinct()
        .withColumn("is_deleted", F.lit(True))
    )
    is_move = (F.col("state") == "Dead") & F.coalesce(F.col("reason").startswith(UNLOADED), F.lit(False))
    by_group = Window.partitionBy(*GROUP).orderBy("own")
    known = states.where(~is_move).withColumn("before", F.lag("state").over(by_group))
    was_empty = F.coalesce(F.col("before").isin("Dead", "Empty"), F.lit(True))
    is_effect = F.when(F.col("reason").isNotNull(), ~F.col("reason").endswith("deleted")).otherwise(
        was_empty & F.col("is_deleted").isNull()
    )
    return (
        known.join(deleted_at, [*GROUP, "raw_ms"], how="left")
        .where((F.col("state") != "Dead") | ~is_effect)
        .drop("is_deleted", "before")
    )


def group_timelines(asked: DataFrame, clock: Clock, options: WhatifOptions) -> DataFrame:
    """For each group `stretches`, its agings by the cleanups that see them, `ends` (it was deleted), `lives` (members).

    A stretch has `first`, `last` (numbers of cleanups), `aging`, `place` and `is_long`: it is of an Empty group, and
    the shortest retention may be over within it.
    """
    counted = kept(clock.count(asked, "own", "ms"))
    ends = (
        counted.where(F.col("state") == "Dead")
        .groupBy(*GROUP)
        .agg(F.sort_array(F.collect_list(F.struct(F.col("own").alias("place"), "passes"))).alias("ends"))
    )
    seen = counted.groupBy(*GROUP, "passes", "since_ms", "last_pass").agg(
        F.max("own").alias("place"), F.max_by("aging", "own").alias("aging")
    )
    by_group = Window.partitionBy(*GROUP).orderBy("passes")
    is_empty = F.col("aging.counts_from") == EMPTY
    is_other = F.col("before").isNull() | is_empty | ~F.col("aging").eqNullSafe(F.col("before"))
    changed = kept(seen.withColumn("before", F.lag("aging").over(by_group)).where(is_other))
    spans = changed.select(
        *GROUP,
        (F.col("passes") + 1).alias("first"),
        F.coalesce(F.lead("passes").over(by_group), F.col("last_pass")).alias("last"),
        "aging",
        "place",
        "since_ms",
    )
    before_all = (
        changed.groupBy(*GROUP, "since_ms")
        .agg(F.min("passes").alias("last"))
        .select(
            *GROUP,
            F.lit(LONG_AGO).cast("long").alias("first"),
            "last",
            simple_aging(options.policy).alias("aging"),
            F.lit(-1).cast("long").alias("place"),
            "since_ms",
        )
    )
    last_ms = F.col("since_ms") + F.col("last") * F.lit(options.check_interval_ms).cast("long")
    shortest = F.lit(min(options.retentions_ms)).cast("long")
    is_long = (F.col("aging.counts_from") == EMPTY) & (F.col("aging.empty_ms") + shortest <= last_ms)
    stretches = (
        spans.unionByName(before_all)
        .where(F.col("first") <= F.col("last"))
        .withColumn("is_long", is_long)
        .groupBy(*GROUP)
        .agg(F.collect_list(F.struct("first", "last", "place", "is_long", "aging")).alias("stretches"))
    )
    lives = (
        counted.where(F.col("state").isin(*LIVE_STATES))
        .groupBy(*GROUP)
        .agg(F.collect_list(F.struct("passes", F.col("own").alias("place"), "ms", "subscribed_topics")).alias("lives"))
    )
    return (
        stretches.join(ends, [*GROUP], how="left")
        .join(lives, [*GROUP], how="left")
        .withColumn("long_stretches", F.filter("stretches", lambda each: each["is_long"]))
    )


def _state_aging(policy: str) -> Column:
    """`state_aging` of the oracle as an expression over columns of group_states."""
    aging = aging_of(
        policy, F.col("state"), F.col("protocol_type"), F.col("subscribed_topics"), F.unix_millis("state_at")
    )
    return F.when(F.col("state") == "Dead", simple_aging(policy)).otherwise(aging)
