"""When offsets are due, as Spark's expressions: `expiry_facts.due_of` in SQL."""

from itertools import chain
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - its usual name

from fakebroker.analysis.pipeline.expiry_facts import NEWER_RULE, broker_facts
from fakebroker.analysis.pipeline.group_transitions import CLASSIC
from fakebroker.testing.releases import RELEASES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

BROKER: Final = ("policy", "retention_ms", "interval_ms", "always_has_expire_ms")
_BY_RELEASE: Final = {name: broker_facts(name, {}) for name in RELEASES}


def with_broker_facts(started: "DataFrame") -> "DataFrame":
    """`broker_started` lines with the columns of BROKER: of the release, unless the settings say otherwise."""
    policy = _setting("fakebroker.expiry.policy")
    chosen = F.when(policy == "3.9", F.lit("4.3")).when(policy != "release", policy)
    minutes = _setting("offsets.retention.minutes").cast("long")
    return started.withColumns(
        {
            "policy": F.coalesce(chosen, _of_release("policy")),
            "retention_ms": F.coalesce(minutes * 60_000, _of_release("retention_ms")),
            "interval_ms": F.coalesce(
                _setting("offsets.retention.check.interval.ms").cast("long"), _of_release("interval_ms")
            ),
            "always_has_expire_ms": _of_release("always_has_expire_ms"),
        }
    )


def _of_release(fact: str) -> "Column":
    facts = {name: getattr(facts, fact) for name, facts in _BY_RELEASE.items()}
    column: Column = F.create_map(*map(F.lit, chain(*facts.items())))[F.col("release")]
    return column.cast("long") if fact.endswith("_ms") and fact != "always_has_expire_ms" else column


def _setting(name: str) -> "Column":
    return F.get_json_object("settings", f"$['{name}']")


def due(committed_ms: str, expire_ms: str) -> "Column":
    """A struct of `rule` and `due_ms`, null for never. Its columns are those of BROKER and of the group's facts:
    state, group_type, protocol_type, topics (an array or null), empty_ms; and `topic`.
    """
    is_proposal = F.col("policy") == "kip-211"
    plain_ms = F.col(committed_ms) + F.col("retention_ms")
    own_ms = F.coalesce(F.col(expire_ms), F.when(F.col("always_has_expire_ms"), plain_ms))
    rule = F.when(is_proposal, F.lit("EX-14")).otherwise(F.lit("EX-3"))
    own = _due(F.when(is_proposal, F.lit("EX-14")).otherwise(F.lit("EX-2")), own_ms)
    counts_from_empty = (F.col("protocol_type") != "") & (F.col("empty_ms") >= 0)
    late = F.when(~is_proposal & (F.col(committed_ms) > F.col("empty_ms")), F.lit("EX-5")).otherwise(rule)
    empty = (
        F.when(own_ms.isNotNull() & ~(is_proposal & counts_from_empty), own)
        .when(~counts_from_empty, _due(rule, plain_ms))
        .otherwise(_due(late, F.col("empty_ms") + F.col("retention_ms")))
    )
    is_kept = (F.col("policy") == "2.1") | F.col("topics").isNull() | F.array_contains("topics", F.col("topic"))
    ages = is_proposal | ((F.col("state") == "Stable") & (F.col("protocol_type") == "consumer"))
    with_members = F.when(own_ms.isNotNull(), own).otherwise(_due(rule, plain_ms))
    newer = F.when(F.col("state") == "Empty", _due(F.lit(NEWER_RULE), F.coalesce(own_ms, plain_ms)))
    return (
        F.when(F.col("group_type") != CLASSIC, newer)
        .when(F.col("policy") == "2.0", _due(F.lit("EX-17"), F.coalesce(own_ms, plain_ms)))
        .when(F.col("state") == "Empty", empty)
        .when(~is_kept & ages, with_members)
    )


def _due(rule: "Column", due_ms: "Column") -> "Column":
    return F.struct(rule.alias("rule"), due_ms.alias("due_ms"))
