"""How groups are doing."""

from fakebroker.analysis.pipeline.contract import Column, Table

TABLE = Table(
    name="group_health",
    layer="gold",
    about="One row for each group: how often it rebalances, how far it is behind, what it lost",
    columns=(
        Column("source", "string", "the run of the journal, or the name of the log"),
        Column("group_id", "string", "the group"),
        Column("group_type", "string", "classic, consumer, share or streams"),
        Column("first_at", "timestamp", "the first thing known of it; null if its records have no times", True),
        Column("last_at", "timestamp", "the last thing known of it; null if its records have no times", True),
        Column("last_state", "string", "the last state known; null for a group without one (a simple consumer)", True),
        Column("most_members", "int", "the most members it had; null if unknown", True),
        Column("rebalances", "long", "how many rebalances"),
        Column("rebalancing_ms", "long", "the time it spent in them; null from a log", True),
        Column("longest_rebalance_ms", "long", "the longest of them; null from a log, or without any", True),
        Column("commits", "long", "how many committed offsets were stored"),
        Column("last_commit_at", "timestamp", "when it last committed", True),
        Column(
            "most_lag",
            "long",
            "the most records that any of its partitions was behind at the end of a minute; null if unknown",
            True,
        ),
        Column(
            "last_lag",
            "long",
            "how many records all of its partitions together were behind in the end; null if unknown",
            True,
        ),
        Column("expired_offsets", "long", "how many of its offsets expired"),
        Column("failed_requests", "long", "how many requests that name it were answered with an error"),
    ),
    key=("source", "group_id"),
)
