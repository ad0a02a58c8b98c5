"""The table `group_health` on Spark."""

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - its usual name

from fakebroker.analysis.pipeline.spark.neighbours import position
from fakebroker.analysis.pipeline.tables.group_health import TABLE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_KEYS: Final = ("source", "group_id")


def group_health(
    group_states: "DataFrame",
    commits: "DataFrame",
    rebalances: "DataFrame",
    lag_minute: "DataFrame",
    expiries: "DataFrame",
    requests: "DataFrame",
) -> "DataFrame":
    """A row for each group of each source that had a state or stored an offset: see the oracle of the same name."""
    states, stored = _states(group_states), _commits(commits)
    joined = states.join(stored, on=list(_KEYS), how="full")
    for each in (_rebalances(rebalances), _lags(lag_minute), _expiries(expiries), _failures(requests)):
        joined = joined.join(each, on=list(_KEYS), how="left")
    is_journal = F.coalesce("states_in_journal", F.lit(False)) | F.coalesce("commits_in_journal", F.lit(False))
    made: dict[str, Column] = {
        "group_type": F.coalesce("group_type", F.lit("classic")),
        "first_at": F.least("first_state_at", "first_commit_at"),
        "last_at": F.greatest("last_state_at", "latest_commit_at"),
        "rebalancing_ms": F.when(is_journal, F.coalesce("rebalancing_ms", F.lit(0).cast("long"))),
        **{name: F.coalesce(name, F.lit(0).cast("long")) for name in _COUNTS},
    }
    return joined.select(*(made[name].alias(name) if name in made else F.col(name) for name in TABLE.column_names))


_COUNTS: Final = ("rebalances", "commits", "expired_offsets", "failed_requests")


def _states(group_states: "DataFrame") -> "DataFrame":
    return group_states.groupBy(*_KEYS).agg(
        F.max_by("group_type", position()).alias("group_type"),
        F.max_by("state", position()).alias("last_state"),
        F.max("members").alias("most_members"),
        F.min("began_at").alias("first_state_at"),
        F.max("began_at").alias("last_state_at"),
        F.max(F.col("seq").isNotNull()).alias("states_in_journal"),
    )


def _commits(commits: "DataFrame") -> "DataFrame":
    stored = commits.where((F.col("outcome") == "committed") & F.col("committed_offset").isNotNull())
    return stored.groupBy(*_KEYS).agg(
        F.count("*").alias("commits"),
        F.max_by("applied_at", position(log_offset="applied_log_offset")).alias("last_commit_at"),
        F.min("applied_at").alias("first_commit_at"),
        F.max("applied_at").alias("latest_commit_at"),
        F.max(F.col("seq").isNotNull()).alias("commits_in_journal"),
    )


def _rebalances(rebalances: "DataFrame") -> "DataFrame":
    return rebalances.groupBy(*_KEYS).agg(
        F.count("*").alias("rebalances"),
        F.sum("duration_ms").alias("rebalancing_ms"),
        F.max("duration_ms").alias("longest_rebalance_ms"),
    )


def _lags(lag_minute: "DataFrame") -> "DataFrame":
    latest = lag_minute.groupBy(*_KEYS, "topic", "partition").agg(
        F.max("lag").alias("most_lag"), F.max_by("lag", "minute_at").alias("last_lag")
    )
    return latest.groupBy(*_KEYS).agg(F.max("most_lag").alias("most_lag"), F.sum("last_lag").alias("last_lag"))


def _expiries(expiries: "DataFrame") -> "DataFrame":
    return expiries.groupBy(*_KEYS).agg(F.count("*").alias("expired_offsets"))


def _failures(requests: "DataFrame") -> "DataFrame":
    failed = requests.where(F.size("errors") > 0).select(
        "source", F.explode(F.array_distinct("groups")).alias("group_id")
    )
    return failed.groupBy(*_KEYS).agg(F.count("*").alias("failed_requests"))
