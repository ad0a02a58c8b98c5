"""Runs of commits: the first and the last of those between which nothing can be lost.

A commit that another one of its partition overwrites before any retention can be over is of no account. So commits are
put together by partition and by a time as long as the shortest retention, which Spark does where the rows are, before
anything is shuffled: of a year of commits every minute two numbers a day are left. A run ends where somebody deleted
the offset. Where an offset can be lost sooner, a run is taken apart again, down to the commits between two cleanups:

- it expires by itself, or carries a commit time that is long ago;
- it belongs to a transaction, so that what is newest is not what came last;
- its group is Empty for so long that offsets count from then on, and not from their commits.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from fakebroker.analysis.pipeline.spark.neighbours import BUCKET, POSITION, in_buckets, with_neighbours
from fakebroker.analysis.pipeline.spark.retention_time import GROUP, KEY, PARTS, kept, whole_intervals
from fakebroker.analysis.pipeline.tables.retention_losses import WhatifOptions

# Of a run: the newest offset with its place, from which cleanup on it is seen, and the place and time of the first one.
RUN = (
    *KEY,
    "first_passes",
    "passes",
    "own",
    "committed_offset",
    "committed_ms",
    "expires_ms",
    "commit_place",
    "commit_ms",
)
_AT_ONCE_MS = -(1 << 62)
_MAX_LISTED = 64  # deletions of a partition
# So many of what is looked up fit beside the work of each task; more are sorted.
_MAX_BROADCAST = 1_000_000


def long_runs(commits: DataFrame, deleted: DataFrame, options: WhatifOptions) -> DataFrame:
    """The commits as runs, kept until the session ends or drops them, since they are used more than once.

    Args:
        commits: Those that took effect, with the numbers of their cleanups (`Clock.count`).
        deleted: Every place (`own`) at which somebody or something deleted an offset.
        options: The shortest of its retentions decides how long a run can be.

    Returns columns `RUN`, the deletions around a run, `after` and `before` (null: none), and `is_apart`: as far as the
    commits tell, this run has to be taken apart.
    """
    shortest = F.lit(min(options.retentions_ms)).cast("long")
    is_pending = F.col("own") != F.col("applied")
    due_from = F.when(is_pending, F.lit(_AT_ONCE_MS)).otherwise(F.least(F.col("committed_ms") + shortest, "expires_ms"))
    grouped = (
        _between_deletions(commits, deleted)
        .select("*", due_from.alias("due_from_ms"), _bucket(options))
        .groupBy(*KEY, "bucket", "after", "before", "since_ms")
    )
    due_by = F.col("since_ms") + F.col("passes") * F.lit(options.check_interval_ms).cast("long")
    made = grouped.agg(*_newest_and_first(), F.min("due_from_ms").alias("due_from_ms"))
    is_apart = _is_several() & (F.col("due_from_ms") <= due_by)
    return kept(made.select(*RUN, "bucket", "after", "before", is_apart.alias("is_apart")))


def _between_deletions(commits: DataFrame, deleted: DataFrame) -> DataFrame:
    """The commits with `before` and `after`, the places of the deletions around each; null: none.

    Nearly all partitions have few deletions, which are looked through at each commit, where it is. Where there are many
    that would take a time that grows with the square of a history: these partitions are sorted.
    """
    places = kept(deleted.groupBy(*KEY).agg(F.collect_list("own").alias("deleted")))
    many = places.where(F.size("deleted") > _MAX_LISTED).select(*KEY)
    if many.isEmpty():
        return _among_listed(commits, places)
    many = F.broadcast(many)
    few = commits.join(many, [*KEY], how="left_anti")
    return _among_listed(few, places.where(F.size("deleted") <= _MAX_LISTED)).unionByName(
        _among_sorted(commits.join(many, [*KEY], how="left_semi"), deleted.join(many, [*KEY], how="left_semi"))
    )


def _among_listed(commits: DataFrame, places: DataFrame) -> DataFrame:
    """`_between_deletions` where `places` has a list for each partition, `deleted`."""
    # Most have one at most, and Spark has no compiled code for going through a list.
    one, is_one = F.get("deleted", F.lit(0)), F.size("deleted") == 1
    later = F.array_min(F.filter("deleted", lambda each: each > F.col("applied")))
    earlier = F.array_max(F.filter("deleted", lambda each: each < F.col("applied")))
    return (
        commits.join(F.broadcast(places), [*KEY], how="left")
        .withColumns(
            {
                "after": F.when(is_one, F.when(one > F.col("applied"), one)).otherwise(later),
                "before": F.when(is_one, F.when(one < F.col("applied"), one)).otherwise(earlier),
            }
        )
        .drop("deleted")
    )


def _among_sorted(commits: DataFrame, deleted: DataFrame) -> DataFrame:
    """`_between_deletions` by putting commits and deletions into one order, `own` of the latter being their place."""
    place, of_deletion = F.coalesce("applied", "deleted"), F.col("deleted")
    entry = F.when(F.col("log_part") >= 0, place).otherwise(F.floor(place / F.lit(PARTS)))
    rows = commits.unionByName(deleted.withColumnRenamed("own", "deleted"), allowMissingColumns=True)
    found = with_neighbours(
        in_buckets(rows, place, entry), KEY, before={"before": of_deletion}, after={"after": of_deletion}
    )
    return found.where(of_deletion.isNull()).drop("deleted", POSITION, BUCKET)


def runs(long: DataFrame, commits: DataFrame, timelines: DataFrame, options: WhatifOptions) -> DataFrame:
    """The runs with columns `RUN`: those that have to be taken apart are, into the commits between two cleanups.

    Args:
        long: `long_runs` of the commits.
        commits: As for `long_runs`.
        timelines: `group_timelines`.
        options: As for `long_runs`.
    """
    waiting = timelines.where(F.size("long_stretches") > 0).select(*GROUP, "long_stretches")
    # Of what a run puts together its own cleanups tell: the first that sees its first commit, to that of its last.
    is_empty = F.exists(
        "long_stretches", lambda each: (each["first"] <= F.col("passes")) & (each["last"] > F.col("first_passes"))
    )
    known = long.join(F.broadcast(waiting), [*GROUP], how="left").withColumn(
        "is_apart", F.col("is_apart") | (_is_several() & F.coalesce(is_empty, F.lit(False)))
    )
    apart = kept(known.where("is_apart").select(*KEY, "bucket").distinct())
    count = apart.count()
    if not count:
        return long.select(*RUN)
    if count <= _MAX_BROADCAST:
        apart = F.broadcast(apart)
    whole = long.join(apart, [*KEY, "bucket"], how="left_anti")
    single = commits.withColumn("bucket", _bucket(options)).join(apart, [*KEY, "bucket"], how="left_semi")
    between_cleanups = single.groupBy(*KEY, F.col("passes").alias("cleanup")).agg(*_newest_and_first())
    return whole.select(*RUN).unionByName(between_cleanups.select(*RUN))


def values_before(long: DataFrame) -> DataFrame:
    """For each deletion (`own`) the newest offset before it: `value_own`, `committed_ms`, `expires_ms`.

    What is older than the deletion before is not counted: a commit of a transaction may take effect behind it.
    """
    return (
        long.where(F.col("after").isNotNull() & (F.col("before").isNull() | (F.col("own") > F.col("before"))))
        .groupBy(*KEY, "after")
        .agg(
            F.max("own").alias("value_own"),
            F.max_by("committed_ms", "own").alias("committed_ms"),
            F.max_by("expires_ms", "own").alias("expires_ms"),
        )
        .withColumnRenamed("after", "own")
    )


def _bucket(options: WhatifOptions) -> Column:
    """The time of a commit, in lengths of the shortest retention."""
    cleanups = max(min(options.retentions_ms) // options.check_interval_ms, 1)
    return whole_intervals(F.col("passes"), cleanups).alias("bucket")


def _newest_and_first() -> list[Column]:
    """Single numbers, not structs of them: only these are put together where the rows are without sorting."""
    newest = ("committed_offset", "committed_ms", "expires_ms")
    return [
        *[F.max_by(name, "own").alias(name) for name in newest],
        F.min("passes").alias("first_passes"),
        F.max("passes").alias("passes"),
        F.max("own").alias("own"),
        F.min("applied").alias("commit_place"),
        F.min_by("ms", "applied").alias("commit_ms"),
    ]


def _is_several() -> Column:
    """Whether commits of more than one time between cleanups are in a run."""
    return F.col("first_passes") < F.col("passes")
