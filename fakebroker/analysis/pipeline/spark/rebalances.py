"""The table `rebalances` on Spark."""

from itertools import chain
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - its usual name

from fakebroker.analysis.pipeline.causes import (
    CAUSE_OF_BEGINNING,
    CAUSE_OF_WORDS,
    MEMBERS,
    PENDING,
    PENDING_LEFT,
    REQUESTED,
    UNKNOWN,
)
from fakebroker.analysis.pipeline.spark.neighbours import with_neighbours, with_places
from fakebroker.analysis.pipeline.tables.rebalances import TABLE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_KEYS: Final = ("source", "group_id")
_ENDS: Final = ("Stable", "Empty", "Dead")


def rebalances(group_states: "DataFrame") -> "DataFrame":
    """A row for each rebalance of each group: see the oracle of the same name."""
    is_end = F.col("state").isin(*_ENDS)
    spans = with_neighbours(
        with_places(group_states),
        _KEYS,
        before={"_previous": F.struct("state", "generation", "members")},
        after={"_end": F.when(is_end, F.struct("state", "generation", "members", "began_at"))},
    )
    return _of_journals(spans.where(F.col("log_offset").isNull())).unionByName(
        _of_logs(spans.where(F.col("log_offset").isNotNull()))
    )


def _of_journals(spans: "DataFrame") -> "DataFrame":
    """From the span of PreparingRebalance to the first one that is Stable, Empty or Dead."""
    is_under_way = F.coalesce(F.col("_previous.state").isin("PreparingRebalance", "CompletingRebalance"), F.lit(False))
    is_beginning = (F.col("state") == "PreparingRebalance") & ~is_under_way
    is_ended = F.col("_end.state").isin("Stable", "Empty")
    took_ms = F.unix_millis("_end.began_at") - F.unix_millis("began_at")
    return spans.where(is_beginning).select(
        *_selected(
            ended_at=F.when(is_ended, F.col("_end.began_at")),
            duration_ms=F.when(is_ended & (took_ms >= 0), took_ms),
            cause=_cause(F.coalesce("reason", F.lit(""))),
            trigger=_trigger(F.coalesce("reason", F.lit(""))),
            reason=F.col("reason"),
            generation_before=F.col("generation"),
            generation=F.when(is_ended, F.col("_end.generation")),
            result=F.coalesce(F.col("_end.state"), F.lit("unfinished")),
            members_before=F.col("_previous.members"),
            members=F.when(is_ended, F.col("_end.members")),
        )
    )


def _of_logs(spans: "DataFrame") -> "DataFrame":
    """Each record with another generation than the one before."""
    is_another = ~F.col("generation").eqNullSafe(F.col("_previous.generation"))
    return spans.where(F.col("state").isin("Stable", "Empty") & (F.col("generation") != 0) & is_another).select(
        *_selected(
            ended_at=F.col("began_at"),
            duration_ms=F.lit(None).cast("long"),
            cause=F.lit(UNKNOWN),
            trigger=F.lit(None).cast("string"),
            reason=F.lit(None).cast("string"),
            generation_before=F.col("_previous.generation"),
            generation=F.col("generation"),
            result=F.col("state"),
            members_before=F.col("_previous.members"),
            members=F.col("members"),
        )
    )


def _selected(**made: "Column") -> "list[Column]":
    return [made[name].alias(name) if name in made else F.col(name) for name in TABLE.column_names]


def _cause(reason: "Column") -> "Column":
    words = F.create_map(*map(F.lit, chain(*CAUSE_OF_WORDS.items())))
    found = F.when(F.regexp_like(reason, F.lit(PENDING)), F.lit(PENDING_LEFT))
    found = found.when(F.regexp_like(reason, F.lit(MEMBERS)), words[F.regexp_extract(reason, MEMBERS, 2)])
    for beginning, cause in CAUSE_OF_BEGINNING.items():
        found = found.when(F.startswith(reason, F.lit(beginning)), F.lit(cause))
    return found.otherwise(REQUESTED)


def _trigger(reason: "Column") -> "Column":
    """The members that the reason names; a group that did not match is the empty text here."""
    pending = F.when(F.regexp_like(reason, F.lit(PENDING)), F.regexp_extract(reason, PENDING, 1))
    return pending.otherwise(F.nullif(F.regexp_extract(reason, MEMBERS, 1), F.lit("")))
