"""Times as numbers of cleanups: how many cleanups come before something, whatever the clock did."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from fakebroker.analysis.pipeline.tables.retention_losses import WhatifOptions

LOG = ("source", "log_part")
GROUP = (*LOG, "group_id")
KEY = (*GROUP, "topic", "partition")
PARTS = 1 << 20  # more lines than an entry of a journal has
LONG_AGO = -(1 << 40)  # cleanups: before everything


def places(table: DataFrame) -> DataFrame:
    """The rows with `log_part` (-1 for a journal) and `own`, their place in the log or journal."""
    in_journal = F.col("seq") * F.lit(PARTS).cast("long") + F.col("part")
    return table.withColumn("log_part", F.coalesce(F.col("log_partition"), F.lit(-1))).withColumn(
        "own", F.coalesce(F.col("log_offset"), in_journal)
    )


def whole_intervals(ms: Column, interval_ms: int) -> Column:
    """How many whole intervals fit into a number of milliseconds, rounded down, in whole numbers."""
    interval = F.lit(interval_ms).cast("long")
    return ((ms - F.pmod(ms, interval)) / interval).cast("long")


def first_pass(due_ms: Column, since_ms: Column, interval_ms: int) -> Column:
    """The number of the first cleanup at or after `due_ms`."""
    return -whole_intervals(since_ms - due_ms, interval_ms)


def source_grids(commits: DataFrame, group_states: DataFrame, options: WhatifOptions) -> DataFrame:
    """For each source `since_ms`, and `last_pass`, the number of its last cleanup."""
    times = commits.select(
        "source",
        F.least(F.unix_millis("at"), F.unix_millis("applied_at")).alias("first_ms"),
        F.greatest(F.unix_millis("at"), F.unix_millis("applied_at")).alias("last_ms"),
    ).unionByName(
        group_states.select(
            "source", F.unix_millis("began_at").alias("first_ms"), F.unix_millis("began_at").alias("last_ms")
        )
    )
    known = times.groupBy("source").agg(F.min("first_ms").alias("first_ms"), F.max("last_ms").alias("last_ms"))
    since = F.col("first_ms") if options.since_ms is None else F.lit(options.since_ms).cast("long")
    until = F.col("last_ms") if options.until_ms is None else F.lit(options.until_ms).cast("long")
    last_pass = F.greatest(whole_intervals(until - since, options.check_interval_ms), F.lit(0).cast("long"))
    return known.where(F.col("first_ms").isNotNull()).select(
        "source", since.alias("since_ms"), last_pass.alias("last_pass")
    )


def settled(small: DataFrame) -> DataFrame:
    """The same rows, computed now and kept by the driver, so that what uses them several times computes them once.

    Only for what is very small beside the history, as a row for each group: without this each use would read the whole
    history again, and the plan would grow beyond what Spark can plan. What is longer is `kept`.
    """
    return small.sparkSession.createDataFrame(small.toArrow())


def kept(frame: DataFrame) -> DataFrame:
    """The same rows, computed now and kept until nothing refers to them, for what is used several times.

    What is made of them is planned without what they were made of: planning takes a time that grows with the square of
    a plan's size. On a cluster, where a worker may be lost with what it keeps, Spark has to know how to make it again.
    """
    is_local = frame.sparkSession.sparkContext.master.startswith("local")
    return frame.localCheckpoint() if is_local else frame.persist()


class Clock:
    """Counts cleanups. When a clock goes back, cleanups that were are not taken back."""

    def __init__(self, grids: DataFrame, moments: DataFrame, options: WhatifOptions) -> None:
        """`moments` has `source`, `log_part`, `place` and `ms` of everything that happened."""
        self.grids = settled(grids)
        self._interval_ms = options.check_interval_ms
        self._late = settled(self._late_places(moments))

    def count(self, table: DataFrame, place: str, ms: str, name: str = "passes") -> DataFrame:
        """The rows with `name`, how many cleanups came before them, and `since_ms` and `last_pass` of the source.

        `ms`, the column with their times, becomes no earlier than those cleanups.
        """
        counted = self._counted(table, ms, "raw_passes").join(F.broadcast(self._late), [*LOG, "raw_passes"], how="left")
        before = F.filter("later", lambda each: each["place"] <= F.col(place))
        latest = F.array_max(F.transform(before, lambda each: each["passes"]))
        passes = F.greatest(F.col("raw_passes"), F.when(F.col("later").isNotNull(), latest))
        clamped = F.greatest(F.col(ms), F.col("since_ms") + F.col(name) * F.lit(self._interval_ms).cast("long"))
        return counted.withColumn(name, passes).withColumn(ms, clamped).drop("later", "raw_passes")

    def _counted(self, table: DataFrame, ms: str, name: str) -> DataFrame:
        passes = whole_intervals(F.col(ms) - F.col("since_ms"), self._interval_ms)
        return table.join(F.broadcast(self.grids), ["source"], how="inner").withColumn(
            name, F.coalesce(passes, F.lit(LONG_AGO).cast("long"))
        )

    def _late_places(self, moments: DataFrame) -> DataFrame:
        """For each count that the clock went back to: the higher counts that began before its last place, and where."""
        counts = kept(
            self._counted(moments, "ms", "raw_passes")
            .groupBy(*LOG, "raw_passes")
            .agg(F.min("place").alias("first_place"), F.max("place").alias("last_place"))
        )
        higher = Window.partitionBy(*LOG).orderBy(F.col("raw_passes").desc()).rowsBetween(Window.unboundedPreceding, -1)
        mixed = counts.withColumn("limit", F.min("first_place").over(higher)).where(
            F.col("last_place") > F.col("limit")
        )
        later = counts.select(
            *LOG, F.col("raw_passes").alias("later_passes"), F.col("first_place").alias("later_place")
        )
        return (
            mixed.join(later, [*LOG], how="inner")
            .where((F.col("later_passes") > F.col("raw_passes")) & (F.col("later_place") < F.col("last_place")))
            .groupBy(*LOG, "raw_passes")
            .agg(
                F.collect_list(
                    F.struct(F.col("later_place").alias("place"), F.col("later_passes").alias("passes"))
                ).alias("later")
            )
        )
