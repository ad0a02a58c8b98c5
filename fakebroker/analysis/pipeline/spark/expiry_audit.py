"""The table `expiry_audit` on Spark: what the oracle of the same name does line by line, side by side."""

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from fakebroker.analysis.pipeline.contract import SPARK_TYPES
from fakebroker.analysis.pipeline.expiry_cases import NEWER_RULE
from fakebroker.analysis.pipeline.expiry_facts import (
    BROKER_UNKNOWN,
    COMMIT_UNKNOWN,
    TOPICS_UNKNOWN,
    TRANSACTION,
    TYPE_UNKNOWN,
)
from fakebroker.analysis.pipeline.group_transitions import CLASSIC, OTHER_KIND, UNLOADED
from fakebroker.analysis.pipeline.spark.expiry_due import BROKER, due, with_broker_facts
from fakebroker.analysis.pipeline.spark.neighbours import BUCKET, POSITION, with_neighbours, with_places
from fakebroker.analysis.pipeline.spark.of_table import timestamp
from fakebroker.analysis.pipeline.tables.expiry_audit import TABLE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_GROUP: Final = ("run", "life", "group")
_PLACE: Final = (*_GROUP, "topic", "partition")
_FACTS: Final = ("state", "group_type", "protocol_type", "known_topics", "empty_ms", "is_loaded", "reset_at")
_LINE: Final = (*_GROUP, POSITION, BUCKET, "wall_ms", *_FACTS)
_KINDS: Final = (
    *("broker_started", "transition", "group_stored", "clock_moved", "node_changed"),
    *("offset_committed", "offset_deleted", "offset_expired"),
)
_TYPES: Final = {column.name: SPARK_TYPES[column.type] for column in TABLE.columns}
_FIRST: Final = -1
"""The position before every line."""


def expiry_audit(events: "DataFrame") -> "DataFrame":
    """A row for each offset that expired, and for each that should have: see the oracle of the same name."""
    lines = with_places(events.where(F.col("kind").isin(*_KINDS)), log_offset=None)
    lives = _lives(lines)
    placed = _with_life(lines, lives)
    offsets = _offsets(placed)
    groups = _group_lines(placed)
    known = _with_facts(groups, offsets)
    expired = _recorded(known.where(F.col("kind") == "offset_expired"), lives)
    spans = known.where(F.col("kind") == "group")
    commits = known.where(F.col("kind") == "offset_committed")
    missed = _missed(commits, spans, _segments(placed, lives, events))
    return expired.unionByName(missed).select(*TABLE.column_names)


# -- lines, each in the life of a broker -------------------------------------------------------------------------------


def _lives(lines: "DataFrame") -> "DataFrame":
    """The brokers of each run: from which position to which they lived, and what they were. Few rows."""
    started = lines.where(F.col("kind") == "broker_started")
    following = Window.partitionBy("run").orderBy(POSITION)
    return with_broker_facts(started).select(
        F.col("run"),
        F.col(POSITION).alias("life"),
        F.col("wall_ms").alias("started_ms"),
        F.lead(POSITION).over(following).alias("next_life"),
        F.lead("wall_ms").over(following).alias("next_started_ms"),
        *BROKER,
    )


def _with_life(lines: "DataFrame", lives: "DataFrame") -> "DataFrame":
    """The lines with the position of the line that began their broker's life, -1 without one."""
    spans = F.broadcast(lives.select(F.col("run").alias("_run"), F.col("life").alias("_life"), "next_life"))
    is_in = (
        (F.col("run") == F.col("_run"))
        & (F.col(POSITION) >= F.col("_life"))
        & (F.col("next_life").isNull() | (F.col(POSITION) < F.col("next_life")))
    )
    return (
        lines.join(spans, on=is_in, how="left")
        .withColumn("life", F.coalesce("_life", F.lit(_FIRST).cast("long")))
        .drop("_run", "_life", "next_life")
    )


def _offsets(placed: "DataFrame") -> "DataFrame":
    """Commits, deletions and expiries, each with what was before and after it for its partition.

    `txn_at` is the position of the last offset of a transaction, -1 once the offset was deleted.
    """
    lines = placed.where(F.col("kind").isin("offset_committed", "offset_deleted", "offset_expired"))
    is_txn = F.coalesce("transactional", F.lit(False))
    txn_at = F.when(is_txn, F.col(POSITION)).when(F.col("kind") == "offset_deleted", F.lit(_FIRST).cast("long"))
    commit = F.struct("kind", "seq", "part", "offset", "committed_ms", "expire_ms")
    return with_neighbours(
        lines,
        _PLACE,
        until_here={"txn_at": txn_at},
        before={"_commit": F.when(~is_txn, commit)},
        after={"_ends": F.struct("kind", POSITION, "wall_ms")},
    ).where(~is_txn)


def _group_lines(placed: "DataFrame") -> "DataFrame":
    """What changes groups, as columns of facts: null for a fact that stays. Each group begins with one."""
    changes = placed.where(F.col("kind").isin("transition", "group_stored")).select(
        *_GROUP, POSITION, BUCKET, "wall_ms", *_changed_facts()
    )
    of_groups = placed.where(F.col("group").isNotNull()).select(*_GROUP).distinct()
    beginning: dict[str, Column] = {
        POSITION: F.col("life"),
        BUCKET: F.lit(_FIRST).cast("long"),
        "wall_ms": F.lit(0).cast("long"),
        "state": F.lit("Empty"),
        "group_type": F.lit(CLASSIC),
        "protocol_type": F.lit(""),
        "known_topics": _topics(F.lit(None).cast("array<string>"), is_known=True),
        "empty_ms": F.lit(-1).cast("long"),
        "is_loaded": F.lit(True),
        "reset_at": F.lit(_FIRST).cast("long"),
    }
    return changes.unionByName(of_groups.withColumns(beginning).select(*_LINE))


def _changed_facts() -> "list[Column]":
    """What a `transition` or `group_stored` line says of each fact."""
    is_stored = F.col("kind") == "group_stored"
    is_unload = (F.col("after") == "Dead") & F.startswith(F.col("reason"), F.lit(UNLOADED))
    is_end = (F.col("after") == "Dead") & ~is_unload
    is_change = ~is_stored & (F.col("after") != "Dead")
    is_newer = is_change & (F.coalesce("group_type", F.lit(CLASSIC)) != CLASSIC)
    is_without_members = is_stored & (F.col("members") == 0)
    no_topics = F.lit(None).cast("array<string>")
    return [
        F.when(is_change, F.col("after"))
        .when(is_end | (is_without_members & (F.col("how") == "loaded")), F.lit("Empty"))
        .alias("state"),
        F.when(is_newer, F.col("group_type")).when(is_stored | is_change | is_end, F.lit(CLASSIC)).alias("group_type"),
        F.when(is_stored, F.col("protocol_type")).when(is_end | is_newer, F.lit("")).alias("protocol_type"),
        F.when(is_stored, _topics(F.col("subscribed_topics"), is_known=True))
        .when(is_end, _topics(no_topics, is_known=True))
        .when(is_newer | (is_change & (F.col("after") == "CompletingRebalance")), _topics(no_topics, is_known=False))
        .alias("known_topics"),
        F.when(is_without_members, F.col("state_ms"))
        .when(is_change & ~is_newer & (F.col("after") == "Empty"), F.col("wall_ms"))
        .when(is_change | is_end, F.lit(-1).cast("long"))
        .alias("empty_ms"),
        F.when(is_stored | is_change, F.lit(True)).when(is_unload, F.lit(False)).alias("is_loaded"),
        F.when(is_end & (F.col("reason") != OTHER_KIND), F.col(POSITION)).alias("reset_at"),
    ]


def _topics(topics: "Column", *, is_known: bool) -> "Column":
    return F.struct(topics.alias("topics"), F.lit(is_known).alias("is_known"))


def _with_facts(groups: "DataFrame", offsets: "DataFrame") -> "DataFrame":
    """Lines of groups (`kind` is "group") and of offsets, each with the facts of its group then."""
    union = groups.withColumn("kind", F.lit("group")).unionByName(offsets, allowMissingColumns=True)
    changed = union.withColumnsRenamed({fact: f"_new_{fact}" for fact in _FACTS})
    return with_neighbours(
        changed,
        _GROUP,
        until_here={fact: F.col(f"_new_{fact}") for fact in _FACTS},
        after={"_end": F.when(F.col("kind") == "group", F.struct(POSITION, "wall_ms"))},
    )


# -- what was recorded -------------------------------------------------------------------------------------------------


def _recorded(expired: "DataFrame", lives: "DataFrame") -> "DataFrame":
    """A row for each expiry."""
    is_found = (F.col("_commit.kind") == "offset_committed") & (F.col("_commit.offset") == F.col("offset"))
    judged = (
        _with_broker(expired, lives)
        .withColumns(
            {
                "commit": F.when(is_found, F.col("_commit")),
                "topics": F.col("known_topics.topics"),
            }
        )
        .withColumns({"base_ms": F.col("commit.committed_ms"), "own_ms": F.col("commit.expire_ms")})
    )
    unknown = (
        F.when(F.col("policy").isNull(), F.lit(BROKER_UNKNOWN))
        .when(F.coalesce("txn_at", F.lit(_FIRST)) > F.col("reset_at"), F.lit(TRANSACTION))
        .when(F.col("commit").isNull(), F.lit(COMMIT_UNKNOWN))
        .when(_needs_topics(), F.lit(TOPICS_UNKNOWN))
        .when(_may_be_newer(), F.lit(TYPE_UNKNOWN))
    )
    explained = judged.withColumn("unknown_because", unknown).withColumn(
        "due", F.when(F.col("unknown_because").isNull(), due("base_ms", "own_ms"))
    )
    agrees = (
        F.col("due").isNotNull()
        & (F.col("due.rule") == F.col("rule"))
        & (F.col("due.due_ms") == F.col("due_ms"))
        & (F.col("due.due_ms") <= F.col("wall_ms"))
    )
    return _selected(
        explained,
        committed_at=timestamp(F.col("committed_ms")),
        commit_seq=F.col("commit.seq"),
        commit_part=F.col("commit.part"),
        expiry_seq=F.col("seq"),
        expiry_part=F.col("part"),
        recorded_at=F.timestamp_millis("wall_ms"),
        recorded_due_at=timestamp(F.col("due_ms")),
        recorded_rule=F.col("rule"),
        recomputed_due_at=timestamp(F.col("due.due_ms")),
        recomputed_rule=F.col("due.rule"),
        agrees=F.when(F.col("unknown_because").isNull(), F.coalesce(agrees, F.lit(False))),
        unknown_because=F.col("unknown_because"),
    )


def _needs_topics() -> "Column":
    is_needed = (F.col("group_type") != CLASSIC) | (F.col("policy") == "kip-211")
    return is_needed & (F.col("state") != "Empty") & ~F.col("known_topics.is_known")


def _may_be_newer() -> "Column":
    """Whether the journal has nothing of the group, and its offset expired by the rule of newer ones."""
    is_simple = (F.col("group_type") == CLASSIC) & (F.col("protocol_type") == "") & (F.col("empty_ms") == -1)
    knows_none = F.col("known_topics.is_known") & F.col("known_topics.topics").isNull()
    return (F.col("rule") == NEWER_RULE) & (F.col("state") == "Empty") & is_simple & knows_none


def _with_broker(rows: "DataFrame", lives: "DataFrame") -> "DataFrame":
    return rows.join(F.broadcast(lives.select("run", "life", *BROKER)), on=["run", "life"], how="left")


# -- what should have been ---------------------------------------------------------------------------------------------


def _segments(placed: "DataFrame", lives: "DataFrame", events: "DataFrame") -> "DataFrame":
    """Stretches of a broker's life in which time only goes on: from the start, and from each step back, to the next.

    What comes after a node changed is left out. Few rows.
    """
    is_step_back = (F.col("kind") == "clock_moved") & (F.col("to_ms") < F.col("from_ms"))
    steps = placed.where((is_step_back | (F.col("kind") == "node_changed")) & (F.col("life") != _FIRST)).select(
        "run",
        "life",
        F.col(POSITION).alias("at"),
        F.coalesce("to_ms", "wall_ms").alias("since_ms"),
        F.coalesce("from_ms", "wall_ms").alias("until_ms"),
        (F.col("kind") == "node_changed").alias("ends"),
    )
    begins = lives.select(
        "run", "life", F.col("life").alias("at"), F.col("started_ms").alias("since_ms"),
        F.col("started_ms").alias("until_ms"), F.lit(False).alias("ends"),
    )  # fmt: skip
    last = events.groupBy("run").agg(F.max_by("wall_ms", F.struct("seq", "part")).alias("last_ms"))
    in_order = Window.partitionBy("run", "life").orderBy("at")
    ended = F.max("ends").over(in_order)
    return (
        begins.unionByName(steps)
        .withColumns(
            {
                "to": F.lead("at").over(in_order),
                "to_ms": F.lead("until_ms").over(in_order),
                "is_over": ended,
            }
        )
        .where(~F.col("is_over"))
        .join(lives.select("run", "life", "next_life", "next_started_ms", *BROKER), on=["run", "life"], how="inner")
        .join(last, on="run", how="inner")
        .select(
            "run", "life", F.col("at").alias("segment"), F.col("since_ms").alias("segment_ms"),
            F.coalesce("to", "next_life").alias("segment_end"),
            F.coalesce("to_ms", "next_started_ms", "last_ms").alias("segment_end_ms"), *BROKER,
        )
    )  # fmt: skip


def _missed(commits: "DataFrame", spans: "DataFrame", segments: "DataFrame") -> "DataFrame":
    """A row for each commit that was due for longer than the interval of checks, and was still there.

    The offsets that were there for so long are few beside all that were committed: only they meet their group's spans.
    """
    watched = commits.where(F.coalesce("txn_at", F.lit(_FIRST)) <= F.col("reset_at")).select(
        *_PLACE, "offset", "committed_ms", "expire_ms", "seq", "part",
        F.col(POSITION).alias("at"), F.col("wall_ms").alias("at_ms"), F.col("_ends").alias("ends"),
    )  # fmt: skip
    stays = _overlaps("segment", "segment_end") & (F.col("is_there_ms") > F.col("interval_ms"))
    until_ms = F.when(_ends_in("segment_end"), F.col("ends.wall_ms")).otherwise(F.col("segment_end_ms"))
    long_lived = (
        watched.join(F.broadcast(segments), on=["run", "life"], how="inner")
        .withColumn("from_ms", F.when(F.col("at") >= F.col("segment"), F.col("at_ms")).otherwise(F.col("segment_ms")))
        .withColumn("until_ms", until_ms)
        .withColumn("is_there_ms", F.col("until_ms") - F.col("from_ms"))
        .where(stays)
    )
    met = long_lived.join(
        spans.select(
            *_GROUP, F.col(POSITION).alias("span"), F.col("wall_ms").alias("span_ms"), F.col("_end").alias("span_end"),
            *_FACTS,
        ),
        on=list(_GROUP),
        how="inner",
    ).where(_overlaps("span", "span_end._position"))  # fmt: skip
    return _first_missed(met.withColumn("topics", F.col("known_topics.topics")))


def _overlaps(begin: str, end: str) -> "Column":
    """Whether an offset was there at some time of a stretch of positions; an open end has no end."""
    ends = F.col("ends._position")
    begins_before = F.col(end).isNull() | (F.col("at") < F.col(end))
    return begins_before & (ends.isNull() | (ends > F.col(begin)))


def _ends_in(end: str) -> "Column":
    """Whether an offset that was there in a stretch was gone before the stretch ended."""
    return F.col("ends").isNotNull() & (F.col(end).isNull() | (F.col("ends._position") < F.col(end)))


def _first_missed(met: "DataFrame") -> "DataFrame":
    """Of the spans in which an offset should have expired the first; a look comes at the end of each."""
    span_end = F.col("span_end._position")
    is_in_segment = (F.col("segment_end").isNull() | (F.col("span") < F.col("segment_end"))) & (
        span_end.isNull() | (span_end > F.col("segment"))
    )
    ends_first = span_end.isNotNull() & (F.col("segment_end").isNull() | (span_end < F.col("segment_end")))
    ends_first = ends_first & (F.col("ends").isNull() | (span_end < F.col("ends._position")))
    until_ms = F.when(ends_first, F.col("span_end.wall_ms")).otherwise(F.col("until_ms"))
    since_ms = F.when((F.col("span") > F.col("at")) & (F.col("span") > F.col("segment")), F.col("span_ms")).otherwise(
        F.col("from_ms")
    )
    is_looked_at = ends_first | ~(_ends_in("segment_end") & (F.col("ends.kind") == "offset_expired"))
    judged = met.where(is_in_segment & is_looked_at & F.col("is_loaded") & ~_needs_topics()).withColumn(
        "due", due("committed_ms", "expire_ms")
    )
    is_missed = until_ms - F.greatest(F.col("due.due_ms"), since_ms) > F.col("interval_ms")
    commit = ("run", "group", "topic", "partition", "offset", "committed_ms", "seq", "part")
    first = (
        judged.where(F.col("due").isNotNull() & is_missed)
        .groupBy(*commit)
        .agg(F.min_by("due", F.greatest("span", "segment")).alias("due"))
    )
    return _selected(
        first,
        committed_at=timestamp(F.col("committed_ms")),
        commit_seq=F.col("seq"),
        commit_part=F.col("part"),
        recomputed_due_at=timestamp(F.col("due.due_ms")),
        recomputed_rule=F.col("due.rule"),
        agrees=F.lit(False),
    )


def _selected(rows: "DataFrame", **made: "Column") -> "DataFrame":
    """The columns of the table; what is not made is null."""
    named = {"source": "run", "group_id": "group", "topic": "topic", "committed_offset": "offset"}
    columns = {name: F.col(column) for name, column in named.items()} | {"partition": F.col("partition")} | made
    return rows.select(
        *(columns.get(each.name, F.lit(None)).cast(_TYPES[each.name]).alias(each.name) for each in TABLE.columns)
    )
