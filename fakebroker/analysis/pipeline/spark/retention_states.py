"""How the offsets of groups age, from the states of groups: as they were recorded, and at each cleanup of a what-if.

An aging is a struct: `mode` ("keep", "commit": from each commit, "empty": from `base_ms`), `topics` that are kept,
`ignores_own` (expire timestamps), `rule`. The same as `aging_of` in `analysis/pipeline/oracle/retention_losses.py`.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from fakebroker.analysis.pipeline.expiry_facts import NEWER_RULE
from fakebroker.analysis.pipeline.group_transitions import CLASSIC, UNLOADED
from fakebroker.analysis.pipeline.spark.retention_time import GROUP, LONG_AGO, Clock, kept, places
from fakebroker.analysis.pipeline.tables.retention_losses import WhatifOptions

LATER = 1 << 62  # a place behind all others
LIVE_STATES = ("Stable", "Assigning", "Reconciling")


def simple_rule(policy: str) -> str:
    """The rule by which offsets of a group that never had members age."""
    return {"2.0": "EX-17", "kip-211": "EX-14"}.get(policy, "EX-3")


def simple_aging(policy: str) -> Column:
    """How offsets of a group that never had members age: from their commits."""
    return _aging("commit", rule=simple_rule(policy))


def due_ms(aging: Column, retention_ms: Column) -> Column:
    """When an offset (`committed_ms`, `expires_ms`, `topic`) is due; null while it does not age."""
    own = F.when(F.col("expires_ms").isNotNull() & ~F.coalesce(aging["ignores_own"], F.lit(False)), F.col("expires_ms"))
    base = F.when(aging["mode"] == "empty", aging["base_ms"]).otherwise(F.col("committed_ms"))
    kept = (aging["mode"] == "keep") | F.coalesce(F.array_contains(aging["topics"], F.col("topic")), F.lit(False))
    return F.when(~F.coalesce(kept, F.lit(False)), F.coalesce(own, base + retention_ms))


def rule_of(aging: Column) -> Column:
    """The rule that decides when an offset is due."""
    has_own = F.col("expires_ms").isNotNull() & ~aging["ignores_own"]
    is_late = (aging["mode"] == "empty") & (F.col("committed_ms") > aging["base_ms"])
    return (
        F.when(has_own & (aging["rule"] == "EX-3"), F.lit("EX-2"))
        .when(~has_own & is_late & (aging["rule"] == "EX-3"), F.lit("EX-5"))
        .otherwise(aging["rule"])
    )


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
        _aging_of_state(policy).alias("aging"),
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
    is_other = F.col("before").isNull() | (F.col("aging.mode") == "empty") | ~F.col("aging").eqNullSafe(F.col("before"))
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
    is_long = (F.col("aging.mode") == "empty") & (F.col("aging.base_ms") + shortest <= last_ms)
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


def _aging_of_state(policy: str) -> Column:
    """`aging_of` of the oracle as an expression over columns of group_states."""
    simple = simple_aging(policy)
    rule = simple_rule(policy)
    topics, state, protocol_type = F.col("subscribed_topics"), F.col("state"), F.col("protocol_type")
    is_empty = state == "Empty"
    newer = (
        F.when(is_empty, _aging("commit", rule=NEWER_RULE))
        .when(topics.isNull(), _aging("keep", rule=rule))
        .otherwise(_aging("commit", topics=topics, rule=NEWER_RULE))
    )
    is_simple = F.coalesce(protocol_type == "", F.lit(False)) | F.col("state_at").isNull()
    empty = F.when(is_simple, simple).otherwise(
        _aging("empty", F.unix_millis("state_at"), ignores_own=policy == "kip-211", rule=rule)
    )
    is_unknown = topics.isNull() | ~F.coalesce(protocol_type == "consumer", F.lit(True))
    if policy == "2.1":
        live = _aging("keep", rule=rule)
    else:
        is_kept = is_unknown if policy == "kip-211" else is_unknown | (state != "Stable")
        live = F.when(is_kept, _aging("keep", rule=rule)).otherwise(_aging("commit", topics=topics, rule=rule))
    classic = simple if policy == "2.0" else F.when(is_empty, empty).otherwise(live)
    return F.when(state == "Dead", simple).when(F.col("group_type") != CLASSIC, newer).otherwise(classic)


def _aging(
    mode: str,
    base_ms: Column | None = None,
    topics: Column | None = None,
    ignores_own: bool = False,
    rule: str = "EX-3",
) -> Column:
    no_topics = F.lit(None).cast("array<string>")
    return F.struct(
        F.lit(mode).alias("mode"),
        (F.lit(None).cast("long") if base_ms is None else base_ms).alias("base_ms"),
        (no_topics if topics is None else F.sort_array(topics)).alias("topics"),
        F.lit(ignores_own).alias("ignores_own"),
        F.lit(rule).alias("rule"),
    )
