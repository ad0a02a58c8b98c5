"""What somebody asked for in a history: commits that took effect, and deletions, without what expired when recorded."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from fakebroker.analysis.pipeline.spark.expiry_due import due_ms
from fakebroker.analysis.pipeline.spark.retention_time import GROUP, KEY, LOG, PARTS, Clock, places
from fakebroker.analysis.pipeline.tables.retention_losses import WhatifOptions

OFFSETS = (*KEY, "own", "applied", "ms", "committed_offset", "committed_ms", "expires_ms")
GONE = (*KEY, "own", "ms", "raw_ms", "passes")
_PARTITIONS = "ARRAY<STRUCT<PartitionIndex: INT, ErrorCode: INT>>"
_ANSWER = f"STRUCT<ErrorCode: INT, Topics: ARRAY<STRUCT<Name: STRING, Partitions: {_PARTITIONS}>>>"
_TOPICS_ANSWER = "STRUCT<Responses: ARRAY<STRUCT<Name: STRING, ErrorCode: INT>>>"


def offset_rows(commits: DataFrame) -> DataFrame:
    """Commits with numbers for times: `own` is the place of the record, `applied` where it took effect."""
    committed_ms = F.coalesce(F.unix_millis("committed_at"), F.unix_millis("at"))
    return places(commits).select(
        *KEY,
        "own",
        F.coalesce("applied_log_offset", "own").alias("applied"),
        F.unix_millis("applied_at").alias("ms"),
        F.unix_millis("at").alias("recorded_ms"),
        "committed_offset",
        F.when(F.col("committed_offset").isNotNull(), committed_ms).alias("committed_ms"),
        F.unix_millis("expires_at").alias("expires_ms"),
        "transactional",
        "outcome",
        "producer_id",
    )


def applied_commits(offsets: DataFrame) -> DataFrame:
    """Those that took effect."""
    return offsets.where(F.col("committed_offset").isNotNull() & (F.col("outcome") == "committed")).select(*OFFSETS)


def tombstones(offsets: DataFrame) -> DataFrame:
    """Tombstones of offsets."""
    return offsets.where(F.col("committed_offset").isNull()).select(*OFFSETS)


def moments(offsets: DataFrame, aborts: DataFrame, states: DataFrame, deleted: DataFrame) -> DataFrame:
    """The place and time of everything that happened."""
    columns = [*LOG, "place", "ms"]
    applied = offsets.where((F.col("outcome") == "committed") & F.col("applied").isNotNull())
    pending = offsets.where(F.col("transactional"))
    return (
        applied.withColumn("place", F.col("applied"))
        .select(*columns)
        .unionByName(pending.select(*LOG, F.col("own").alias("place"), F.col("recorded_ms").alias("ms")))
        .unionByName(aborts.select(*LOG, F.col("marker").alias("place"), F.col("marker_ms").alias("ms")))
        .unionByName(states.select(*LOG, F.col("own").alias("place"), "ms"))
        .unionByName(deleted.select(*LOG, F.col("own").alias("place"), "ms"))
    )


def abort_markers(coordinator_records: DataFrame) -> DataFrame:
    """Where transactions were aborted."""
    return places(coordinator_records.where((F.col("kind") == "abort") & F.col("producer_id").isNotNull())).select(
        *LOG, "producer_id", F.col("own").alias("marker"), F.unix_millis("at").alias("marker_ms")
    )


def pending_ends(offsets: DataFrame, aborts: DataFrame) -> DataFrame:
    """Commits of transactions: from `own` on each is pending, up to `end` at `end_ms`; null for an open one."""
    markers = aborts.groupBy(*LOG, "producer_id").agg(F.collect_list(F.struct("marker", "marker_ms")).alias("markers"))
    following = F.array_min(F.filter("markers", lambda each: each["marker"] > F.col("own")))
    is_committed, is_aborted = F.col("outcome") == "committed", F.col("outcome") == "aborted"
    return (
        offsets.where(F.col("transactional"))
        .join(F.broadcast(markers), [*LOG, "producer_id"], how="left")
        .withColumn("abort", F.when(is_aborted, following))
        .select(
            *KEY,
            "own",
            "recorded_ms",
            F.when(is_committed, F.col("applied")).otherwise(F.col("abort.marker")).alias("end"),
            F.when(is_committed, F.col("ms")).otherwise(F.col("abort.marker_ms")).alias("end_ms"),
        )
    )


def asked_tombstones(
    gone: DataFrame, known: DataFrame, pending: DataFrame, recorded: DataFrame, clock: Clock, options: WhatifOptions
) -> DataFrame:
    """Those of the tombstones `gone` that somebody asked for: the offset was not due when they were recorded.

    `known` are the offsets before them (`values_before`), `recorded` the states of groups as they were recorded,
    `pending` what transactions held.
    """
    before = F.coalesce(F.lag("own").over(Window.partitionBy(*KEY).orderBy("own")), F.lit(-1).cast("long"))
    held = (
        gone.select(*KEY, F.col("own").alias("place"), before.alias("before"))
        .join(pending.select(*KEY, F.col("own").alias("pending_own"), "end"), [*KEY], how="inner")
        .where((F.col("pending_own") < F.col("place")) & (F.col("pending_own") > F.col("before")))
        .where(F.col("end").isNull() | (F.col("end") > F.col("place")))
        .select(*KEY, F.col("place").alias("own"))
        .distinct()
        .withColumn("is_held", F.lit(True))
    )
    placed = (
        clock.count(gone.drop("committed_ms", "expires_ms").withColumn("raw_ms", F.col("ms")), "own", "ms")
        .join(known, [*KEY, "own"], how="left")
        .join(held, [*KEY, "own"], how="left")
    )
    state = F.broadcast(recorded.select(*GROUP, "place_from", "place_to", "aging"))
    aged = (
        placed.alias("t")
        .join(
            state.alias("s"),
            [F.col(f"t.{name}") == F.col(f"s.{name}") for name in GROUP]
            + [F.col("t.own") > F.col("s.place_from"), F.col("t.own") < F.col("s.place_to")],
            how="left",
        )
        .select("t.*", "s.aging")
    )
    retention_ms = F.lit(options.recorded_retention_ms).cast("long")
    due = due_ms(F.col("aging"), F.col("committed_ms"), F.col("expires_ms"), retention_ms)
    is_effect = F.col("value_own").isNotNull() & F.col("is_held").isNull() & (F.col("log_part") >= 0)
    return aged.where(~(is_effect & F.coalesce(due <= F.col("ms"), F.lit(False)))).select(*GONE)


def deletions(commits: DataFrame, events: DataFrame) -> DataFrame:
    """Deletions that a journal tells of in requests, as tombstones; a log has them among its commits."""
    requests = events.where(F.col("kind") == "request").select(
        F.col("run").alias("source"),
        "api",
        "request",
        "response",
        (F.col("seq") * F.lit(PARTS).cast("long") + F.col("part")).alias("own"),
        F.col("wall_ms").alias("ms"),
    )
    return _offset_deletes(requests).unionByName(_topic_deletes(requests, commits))


def _offset_deletes(requests: DataFrame) -> DataFrame:
    answered = requests.where(F.col("api") == "OffsetDelete").select(
        "source",
        F.get_json_object("request", "$.GroupId").alias("group_id"),
        F.from_json("response", _ANSWER).alias("answer"),
        "own",
        "ms",
    )
    topics = answered.where(F.coalesce(F.col("answer.ErrorCode"), F.lit(0)) == 0).select(
        "source", "group_id", "own", "ms", F.explode("answer.Topics").alias("topic")
    )
    each = topics.select(
        "source",
        "group_id",
        "own",
        "ms",
        F.col("topic.Name").alias("name"),
        F.explode("topic.Partitions").alias("each"),
    )
    return _as_tombstones(
        each.where(F.col("each.ErrorCode") == 0)
        .withColumn("topic", F.col("name"))
        .withColumn("partition", F.col("each.PartitionIndex"))
    )


def _topic_deletes(requests: DataFrame, commits: DataFrame) -> DataFrame:
    answered = requests.where(F.col("api") == "DeleteTopics").select(
        "source", F.explode(F.from_json("response", _TOPICS_ANSWER).getField("Responses")).alias("each"), "own", "ms"
    )
    gone = answered.where((F.col("each.ErrorCode") == 0) & F.col("each.Name").isNotNull()).select(
        "source", F.col("each.Name").alias("topic"), "own", "ms"
    )
    known = commits.where(F.col("log_partition").isNull()).select("source", "group_id", "topic", "partition").distinct()
    return _as_tombstones(known.join(F.broadcast(gone), ["source", "topic"], how="inner"))


def _as_tombstones(rows: DataFrame) -> DataFrame:
    nothing: dict[str, Column] = {
        name: F.lit(None).cast("long") for name in ("committed_offset", "committed_ms", "expires_ms")
    }
    return (
        rows.withColumn("log_part", F.lit(-1)).withColumn("applied", F.col("own")).withColumns(nothing).select(*OFFSETS)
    )
