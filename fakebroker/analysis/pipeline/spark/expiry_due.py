"""When offsets are due, as Spark's expressions: the table of `expiry_cases.py` in SQL."""

from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - its usual name

from fakebroker.analysis.pipeline.expiry_cases import (
    CASES,
    EMPTY,
    LATE_RULE,
    NEVER,
    OWN_RULE,
    PLAIN_RULE,
    POLICIES,
    Case,
    GroupFacts,
    case_of,
)
from fakebroker.analysis.pipeline.group_transitions import CLASSIC

if TYPE_CHECKING:
    from pyspark.sql import Column


def aging_of(
    policy: "Column | str", state: "Column", protocol_type: "Column", topics: "Column", empty_ms: "Column"
) -> "Column":
    """How the offsets of a group age, by the first of `CASES` that holds; its type is in the column `group_type`.

    A struct: `counts_from`, `empty_ms`, `topics` that are kept, `ignores_own` (expire timestamps), `rule`. The same as
    `expiry_cases.aging_of`, whose arguments these are, as columns; `policy` may be the same for all rows.
    """
    is_newer = F.coalesce(F.col("group_type") != CLASSIC, F.lit(False))
    is_consumer = F.coalesce(protocol_type == "consumer", F.lit(True))
    facts = {
        "is_newer": is_newer,
        "is_empty": state == "Empty",
        "is_stable": state == "Stable",
        "is_simple": F.coalesce(protocol_type == "", F.lit(False)) | empty_ms.isNull(),
        "knows_topics": topics.isNotNull() & (is_newer | is_consumer),
    }
    chosen: Column | None = None
    for case in CASES:
        holds = [facts[name] if value else ~facts[name] for name, value in case.facts.items()]
        if isinstance(policy, str):
            if policy not in case.policies:
                continue
        elif case.policies != POLICIES:
            holds.append(policy.isin(*case.policies))
        is_case = reduce(and_, holds, F.lit(True))
        aging = _aging(case, empty_ms, topics)
        chosen = F.when(is_case, aging) if chosen is None else chosen.when(is_case, aging)
    assert chosen is not None
    return chosen


def simple_aging(policy: str) -> "Column":
    """How offsets of a group age that never had members."""
    return _aging(case_of(policy, GroupFacts()), F.lit(None), F.lit(None))


def _aging(case: Case, empty_ms: "Column", topics: "Column") -> "Column":
    return F.struct(
        F.lit(case.counts_from).alias("counts_from"),
        (empty_ms if case.counts_from == EMPTY else F.lit(None)).cast("long").alias("empty_ms"),
        (F.sort_array(topics) if case.keeps_topics else F.lit(None)).cast("array<string>").alias("topics"),
        F.lit(case.ignores_own).alias("ignores_own"),
        F.lit(case.rule).alias("rule"),
    )


def due_ms(aging: "Column", committed_ms: "Column", own_ms: "Column", retention_ms: "Column") -> "Column":
    """When an offset of the topic in the column `topic` is due; null while it does not age."""
    own = F.when(own_ms.isNotNull() & ~F.coalesce(aging["ignores_own"], F.lit(False)), own_ms)
    base_ms = F.when(aging["counts_from"] == EMPTY, aging["empty_ms"]).otherwise(committed_ms)
    is_read = F.coalesce(F.array_contains(aging["topics"], F.col("topic")), F.lit(False))
    is_kept = F.coalesce(aging["counts_from"] == NEVER, F.lit(False)) | is_read
    return F.when(~is_kept, F.coalesce(own, base_ms + retention_ms))


def rule_of(aging: "Column", committed_ms: "Column", own_ms: "Column") -> "Column":
    """The rule that decides when an offset is due."""
    has_own = own_ms.isNotNull() & ~aging["ignores_own"]
    is_late = (aging["counts_from"] == EMPTY) & (committed_ms > aging["empty_ms"])
    is_plain = aging["rule"] == PLAIN_RULE
    return (
        F.when(has_own & is_plain, F.lit(OWN_RULE))
        .when(~has_own & is_late & is_plain, F.lit(LATE_RULE))
        .otherwise(aging["rule"])
    )
