"""Retention what-if on Spark: many retentions in one pass over the history.

Commits are put together in runs in which only the last can be lost (retention_runs.py), before anything is sorted.
What is left of each is the stretch of cleanups that see it. docs/how-to/whatif.md says what is played;
`analysis/pipeline/oracle/retention_losses.py` plays it one by one.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from fakebroker.analysis.pipeline.spark.expiry_due import due_ms, rule_of, simple_aging
from fakebroker.analysis.pipeline.spark.retention_comebacks import with_comebacks
from fakebroker.analysis.pipeline.spark.retention_inputs import (
    GONE,
    abort_markers,
    applied_commits,
    asked_tombstones,
    deletions,
    moments,
    offset_rows,
    pending_ends,
    tombstones,
)
from fakebroker.analysis.pipeline.spark.retention_runs import long_runs, runs, values_before
from fakebroker.analysis.pipeline.spark.retention_states import (
    asked_states,
    group_timelines,
    recorded_states,
    state_rows,
)
from fakebroker.analysis.pipeline.spark.retention_time import (
    GROUP,
    KEY,
    LONG_AGO,
    PARTS,
    Clock,
    first_pass,
    kept,
    settled,
    source_grids,
)
from fakebroker.analysis.pipeline.tables.retention_losses import TABLE, WhatifOptions

# Whether a group was removed depends on what is left of it, and that on whether it was removed in an earlier stretch:
# each round is right about one such stretch more.
ROUNDS = 2
_PIECE = (*KEY, "own", "committed_offset", "committed_ms", "expires_ms", "next_ms", "next_place", "since_ms")


def retention_losses(
    commits: DataFrame,
    coordinator_records: DataFrame,
    group_states: DataFrame,
    events: DataFrame,
    log_ends: DataFrame,
    *,
    options: WhatifOptions | None = None,
) -> DataFrame:
    """Every offset that is lost with a retention of `options`: see the contract."""
    options = options or WhatifOptions()
    offsets = offset_rows(commits)
    states = state_rows(group_states, options.policy)
    aborts = abort_markers(coordinator_records)
    deleted = deletions(commits, events)
    clock = Clock(source_grids(commits, group_states, options), moments(offsets, aborts, states, deleted), options)
    pending = pending_ends(offsets, aborts)
    removed = kept(tombstones(offsets))
    applied = clock.count(applied_commits(offsets), "applied", "ms")
    long = long_runs(applied, removed.select(*KEY, "own").unionByName(deleted.select(*KEY, "own")), options)
    asked = asked_tombstones(removed, values_before(long), pending, recorded_states(states), clock, options)
    counted = clock.count(deleted, "own", "ms").withColumn("raw_ms", F.col("ms")).select(*GONE)
    gone = kept(asked.unionByName(counted))
    timelines = settled(group_timelines(asked_states(states, gone), clock, options))
    pieces = _pieces(runs(long, applied, timelines, options), gone)
    held = _held(pending, gone, timelines, clock)
    exposed = kept(_exposed(pieces, held, timelines, clock, options))
    losses = _losses(exposed, options)
    return _as_contract(with_comebacks(losses, timelines, log_ends), options)


def _pieces(commits: DataFrame, gone: DataFrame) -> DataFrame:
    """Offsets with the cleanups that see them, `first` to `last`, as far as the next event of the partition says.

    The state of a partition after some events is the newest record, by its place in the log, of those that took effect:
    a commit of a transaction that a later record has overtaken counts for nothing. `commits` are in runs.
    """
    deleted = gone.select(*KEY, "own", "passes", F.col("passes").alias("first_passes"))
    events = commits.unionByName(deleted, allowMissingColumns=True)
    # Of what happened between the same two cleanups only the newest record is seen.
    in_order = Window.partitionBy(*KEY).orderBy("passes", "own")
    earlier = in_order.rowsBetween(Window.unboundedPreceding, -1)
    newest = events.withColumn("overtaken_by", F.max("own").over(earlier)).where(
        F.col("overtaken_by").isNull() | (F.col("overtaken_by") < F.col("own"))
    )
    keys = ", ".join(f"`{name}`" for name in KEY)
    following = f"IGNORE NULLS OVER (PARTITION BY {keys} ORDER BY passes, own)"
    return (
        newest.withColumn("next_passes", F.lead("first_passes").over(in_order))
        .withColumn("next_ms", F.expr(f"lead(commit_ms) {following}"))
        .withColumn("next_place", F.expr(f"lead(commit_place) {following}"))
        .where(F.col("committed_offset").isNotNull())
        .withColumn("first", F.greatest(F.col("passes") + 1, F.lit(1).cast("long")))
        .withColumn("is_held", F.lit(False))
    )


def _held(pending: DataFrame, gone: DataFrame, timelines: DataFrame, clock: Clock) -> DataFrame:
    """For each partition `held`, the stretches of cleanups during which a transaction held it, apart and in order.

    A transaction holds it from its record to its marker, or until somebody deletes the offset or the group.
    """
    began = clock.count(pending.withColumnRenamed("recorded_ms", "began_ms"), "own", "began_ms", "began")
    ended = clock.count(began.drop("since_ms", "last_pass"), "end", "end_ms", "ended").withColumn(
        "last", F.when(F.col("end").isNull(), F.col("last_pass")).otherwise(F.least("ended", "last_pass"))
    )
    deleted = gone.select(*KEY, F.col("own").alias("gone"), F.col("passes").alias("cut"))
    cut = (
        ended.join(deleted, [*KEY], how="left")
        .withColumn("cut", F.when(F.col("gone") > F.col("own"), F.col("cut")))
        .groupBy(*KEY, "own", "began")
        .agg(F.min(F.least("last", "cut")).alias("last"))
        .join(timelines.select(*GROUP, "ends"), [*GROUP], how="left")
        .withColumn("last", F.least("last", _end_after("own")))
        .select(*KEY, (F.col("began") + 1).alias("first"), "last")
        .where(F.col("first") <= F.col("last"))
    )
    in_order = Window.partitionBy(*KEY).orderBy("first", "last")
    rows_before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    begins = F.coalesce((F.col("first") > F.max("last").over(rows_before) + 1).cast("int"), F.lit(1))
    rows_so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    numbered = cut.withColumn("begins", begins).withColumn("number", F.sum("begins").over(rows_so_far))
    merged = numbered.groupBy(*KEY, "number").agg(F.min("first").alias("first"), F.max("last").alias("last"))
    return merged.groupBy(*KEY).agg(F.sort_array(F.collect_list(F.struct("first", "last"))).alias("held"))


def _end_after(place: str) -> Column:
    """The cleanups before the next time that somebody deleted the group, null if nobody did."""
    later = F.filter("ends", lambda each: each["place"] > F.col(place))
    return F.array_min(F.transform(later, lambda each: each["passes"]))


def _exposed(
    pieces: DataFrame, held: DataFrame, timelines: DataFrame, clock: Clock, options: WhatifOptions
) -> DataFrame:
    """Offsets with the cleanups at which they may be lost, `first` to `last`, and the `stretch` of the group's time.

    Only those that can be: old enough for the shortest retention at the last of their cleanups, expiring by themselves
    before it, or of a group that is Empty for that long. Rows with `is_held` are the times when a transaction holds
    something in an Empty group, which keeps the group.
    """
    interval = F.lit(options.check_interval_ms).cast("long")
    shortest = F.lit(min(options.retentions_ms)).cast("long")
    last_ms = F.col("since_ms") + F.col("last") * interval
    is_old = (last_ms >= F.col("committed_ms") + shortest) | F.coalesce(last_ms >= F.col("expires_ms"), F.lit(False))
    alone = F.array(_stretch_of_simple_group(options))
    stretches = F.when(F.col("is_old"), F.coalesce("stretches", alone)).otherwise(F.col("long_stretches"))
    placed = (
        pieces.join(F.broadcast(clock.grids), ["source"], how="inner")
        .withColumn("last", F.least("next_passes", "last_pass"))
        .withColumn("is_old", is_old)
        .join(F.broadcast(timelines.drop("lives")), [*GROUP], how="left")
        .withColumn("last", F.least("last", _end_after("own")))
    )
    stretched = _in_stretches(placed, stretches).join(held, [*KEY], how="left")
    free = _outside_of_held(stretched)
    holding = (
        held.withColumn("each", F.explode("held"))
        .select(*KEY, F.col("each.first").alias("first"), F.col("each.last").alias("last"))
        .join(F.broadcast(clock.grids), ["source"], how="inner")
        .join(F.broadcast(timelines), [*GROUP], how="inner")
    )
    nothing = {name: F.lit(None).cast("long") for name in _PIECE if name not in (*KEY, "since_ms")}
    kept = _in_stretches(holding.withColumns(nothing), F.col("long_stretches")).withColumn("is_held", F.lit(True))
    columns = [*_PIECE, "first", "last", "stretch", "is_held"]
    return free.select(*columns).unionByName(kept.select(*columns))


def _stretch_of_simple_group(options: WhatifOptions) -> Column:
    """All the time of a group of which no state is known."""
    return F.struct(
        F.lit(LONG_AGO).cast("long").alias("first"),
        F.lit(-LONG_AGO).cast("long").alias("last"),
        F.lit(-1).cast("long").alias("place"),
        F.lit(False).alias("is_long"),
        simple_aging(options.policy).alias("aging"),
    )


def _in_stretches(rows: DataFrame, stretches: Column) -> DataFrame:
    """The rows, once for each stretch that shares cleanups with them: `first` to `last` are those shared."""
    shared = F.filter(stretches, lambda each: (each["first"] <= F.col("last")) & (each["last"] >= F.col("first")))
    return (
        rows.where(F.col("first") <= F.col("last"))
        .withColumn("stretch", F.explode(shared))
        .withColumn("first", F.greatest("first", F.col("stretch.first")))
        .withColumn("last", F.least("last", F.col("stretch.last")))
    )


def _outside_of_held(rows: DataFrame) -> DataFrame:
    """The rows, once for each stretch of their cleanups in which no transaction holds the partition (EX-4)."""
    nobody = F.array().cast("array<struct<first: bigint, last: bigint>>")
    held = F.coalesce("held", nobody)
    firsts = F.concat(F.array("first"), F.transform(held, lambda each: each["last"] + 1))
    lasts = F.concat(F.transform(held, lambda each: each["first"] - 1), F.array("last"))
    between = F.zip_with(
        firsts,
        lasts,
        lambda first, last: F.struct(
            F.greatest(first, F.col("first")).alias("first"), F.least(last, F.col("last")).alias("last")
        ),
    )
    free = F.filter(between, lambda each: each["first"] <= each["last"])
    return (
        rows.withColumn("free", F.explode(free))
        .withColumn("first", F.col("free.first"))
        .withColumn("last", F.col("free.last"))
        .withColumn("is_held", F.lit(False))
    )


def _losses(exposed: DataFrame, options: WhatifOptions) -> DataFrame:
    """The first cleanup at which each offset is due, for each retention: `lost` has its number, `due_ms` and `rule`."""
    retentions = F.array(*[F.lit(each).cast("long") for each in sorted(set(options.retentions_ms))])
    tried = exposed.withColumn("retention_ms", F.explode(retentions)).withColumn("is_removed", F.lit(False))
    for _ in range(ROUNDS):
        tried = _with_removals(_with_passes(tried, options))
    lost = _with_passes(tried, options).where(~F.col("is_held") & (F.col("pass") <= F.col("last")))
    return (
        lost.withColumn("rule", rule_of(_aging(options), F.col("committed_ms"), F.col("expires_ms")))
        .groupBy(*_PIECE, "retention_ms")
        .agg(F.min(F.struct("pass", "due_ms", "rule")).alias("lost"))
    )


def _aging(options: WhatifOptions) -> Column:
    return F.when(F.col("is_removed"), simple_aging(options.policy)).otherwise(F.col("stretch.aging"))


def _with_passes(rows: DataFrame, options: WhatifOptions) -> DataFrame:
    """The rows with `due_ms`, and `pass`, the first of their cleanups that would drop the offset; null if none does."""
    number = first_pass(F.col("due_ms"), F.col("since_ms"), options.check_interval_ms)
    due = due_ms(_aging(options), F.col("committed_ms"), F.col("expires_ms"), F.col("retention_ms"))
    return rows.withColumn("due_ms", due).withColumn(
        "pass", F.when(F.col("due_ms").isNotNull(), F.greatest("first", number))
    )


def _with_removals(tried: DataFrame) -> DataFrame:
    """The rows with `is_removed`: before this commit a cleanup had removed the Empty group, so it made a simple one.

    A cleanup removes an Empty group at which nothing is left (EX-9): the first that no offset and no transaction of
    the group outlives. Rows that have nothing to do with that are spread over all tasks.
    """
    of_offset = Window.partitionBy(*KEY, "own", "retention_ms").orderBy("first")
    is_lost = ~F.col("is_held") & F.coalesce(F.col("pass") <= F.col("last"), F.lit(False))
    was_lost = F.coalesce(F.max(is_lost).over(of_offset.rowsBetween(Window.unboundedPreceding, -1)), F.lit(False))
    is_long = F.col("stretch.is_long")
    spread = F.when(is_long, F.lit(0).cast("long")).otherwise(F.xxhash64(*KEY, "own"))
    alive = F.when(F.col("is_held"), F.col("last")).when(~F.col("was_lost"), F.least("last", F.col("pass") - 1))
    rows = (
        tried.withColumn("was_lost", was_lost)
        .withColumn("alive", alive)
        .withColumn("spread", spread)
        .withColumn("place", F.col("stretch.place"))
    )
    window = Window.partitionBy(*GROUP, "place", "retention_ms", "spread").orderBy("first")
    covered = F.max("alive").over(window.rangeBetween(Window.unboundedPreceding, -1))
    begins = F.col("stretch.first") - 1
    is_gap = is_long & (F.col("first") > F.greatest(covered, begins) + 1)
    so_far = window.rangeBetween(Window.unboundedPreceding, Window.currentRow)
    return (
        rows.withColumn("is_gap", is_gap)
        .withColumn("is_removed", F.max("is_gap").over(so_far))
        .drop("is_gap", "was_lost", "alive", "spread", "place")
    )


def _as_contract(losses: DataFrame, options: WhatifOptions) -> DataFrame:
    is_log = F.col("log_part") >= 0
    lost_ms = F.col("since_ms") + F.col("lost.pass") * F.lit(options.check_interval_ms).cast("long")
    return losses.select(
        "source",
        "group_id",
        "topic",
        "partition",
        "retention_ms",
        "committed_offset",
        F.timestamp_millis("committed_ms").alias("committed_at"),
        F.when(is_log, F.col("log_part")).alias("log_partition"),
        F.when(is_log, F.col("own")).alias("log_offset"),
        F.when(~is_log, F.floor(F.col("own") / PARTS)).alias("seq"),
        F.when(~is_log, F.pmod("own", F.lit(PARTS)).cast("int")).alias("part"),
        F.timestamp_millis("lost.due_ms").alias("due_at"),
        F.timestamp_millis(lost_ms).alias("lost_at"),
        F.col("lost.rule").alias("rule"),
        F.timestamp_millis("came_back_ms").alias("came_back_at"),
        "read_again_records",
        "skipped_records",
    ).select(*TABLE.column_names)
