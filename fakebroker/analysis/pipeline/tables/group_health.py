"""How groups are doing."""

from fakebroker.analysis.pipeline.contract import Column, Table

TABLE = Table(
    name="group_health",
    layer="gold",
    about="One row for each group: its rebalances, its lag, and its lost offsets",
    columns=(
        Column("source", "string", "the run of the journal, or the name of the log"),
        Column("group_id", "string", "the group"),
        Column("group_type", "string", "classic, consumer, share or streams"),
        Column("first_at", "timestamp", "time of its first record; null if its records have no times", True),
        Column("last_at", "timestamp", "time of its last record; null if its records have no times", True),
        Column("last_state", "string", "the last state known; null for a group without one (a simple consumer)", True),
        Column("most_members", "int", "highest number of members; null if unknown", True),
        Column("rebalances", "long", "number of rebalances"),
        Column("rebalancing_ms", "long", "total time in rebalances; null from a log", True),
        Column("longest_rebalance_ms", "long", "the longest rebalance; null from a log, or without rebalances", True),
        Column("commits", "long", "number of commits stored"),
        Column("last_commit_at", "timestamp", "when it last committed", True),
        Column(
            "most_lag",
            "long",
            "highest lag of a partition at the end of a minute, in records; null if unknown",
            True,
        ),
        Column(
            "last_lag",
            "long",
            "final lag over all of its partitions, in records; null if unknown",
            True,
        ),
        Column("expired_offsets", "long", "number of its offsets that expired"),
        Column("failed_requests", "long", "number of requests naming it that were answered with an error"),
    ),
    key=("source", "group_id"),
)
