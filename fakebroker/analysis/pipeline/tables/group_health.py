"""How groups are doing."""

from fakebroker.analysis.pipeline.contract import Table, columns
from fakebroker.analysis.pipeline.recipe import Recipe

TABLE = Table(
    name="group_health",
    layer="gold",
    about="One row for each group: its rebalances, its lag, and its lost offsets",
    columns=columns("""
        source string: the run of the journal, or the name of the log
        group_id string: the group
        group_type string: classic, consumer, share or streams
        first_at timestamp?: time of its first record; null if its records have no times
        last_at timestamp?: time of its last record; null if its records have no times
        last_state string?: the last state known; null for a group without one (a simple consumer)
        most_members int?: highest number of members; null if unknown
        rebalances long: number of rebalances
        rebalancing_ms long?: total time in rebalances; null for a classic group from a log
        longest_rebalance_ms long?: the longest rebalance; null for a classic group from a log, or without rebalances
        commits long: number of commits stored
        last_commit_at timestamp?: when it last committed
        most_lag long?: highest lag of a partition at the end of a minute, in records; null if unknown
        last_lag long?: final lag over all of its partitions, in records; null if unknown
        expired_offsets long: number of its offsets that expired
        failed_requests long: number of requests naming it that were answered with an error
    """),
    key=("source", "group_id"),
)


def recipe() -> Recipe:
    """A row for each group of each source that had a state or stored an offset."""
    return Recipe("""
        WITH states AS (
            SELECT
                source, group_id,
                ARG_MAX_NULL(group_type, ROW(log_offset, seq, part)) AS group_type,
                ARG_MAX_NULL(state, ROW(log_offset, seq, part)) AS last_state,
                MAX(members) AS most_members, MIN(began_at) AS first_state_at, MAX(began_at) AS last_state_at,
                COUNT(seq) AS lines_of_journal
            FROM group_states
            GROUP BY source, group_id
        ), stored AS (
            SELECT
                source, group_id, COUNT(*) AS commits,
                ARG_MAX_NULL(applied_at, ROW(applied_log_offset, log_offset, seq, part)) AS last_commit_at,
                MIN(applied_at) AS first_commit_at, MAX(applied_at) AS latest_commit_at,
                COUNT(seq) AS commits_of_journal
            FROM commits
            WHERE outcome = 'committed' AND committed_offset IS NOT NULL
            GROUP BY source, group_id
        ), begun AS (
            SELECT
                source, group_id, COUNT(*) AS rebalances, SUM(duration_ms) AS rebalancing_ms,
                MAX(duration_ms) AS longest_rebalance_ms
            FROM rebalances
            GROUP BY source, group_id
        ), lags AS (
            SELECT source, group_id, MAX(most_lag) AS most_lag, SUM(last_lag) AS last_lag
            FROM (
                SELECT source, group_id, MAX(lag) AS most_lag, ARG_MAX_NULL(lag, minute_at) AS last_lag
                FROM lag_minute
                GROUP BY source, group_id, topic, "partition"
            ) AS of_partitions
            GROUP BY source, group_id
        ), expired AS (
            SELECT source, group_id, COUNT(*) AS expired_offsets FROM expiries GROUP BY source, group_id
        ), failed AS (
            SELECT source, group_id, COUNT(*) AS failed_requests
            FROM (
                SELECT source, UNNEST(ARRAY_DISTINCT("groups")) AS group_id
                FROM requests
                WHERE ARRAY_LENGTH(errors) > 0
            ) AS named
            GROUP BY source, group_id
        )
        SELECT
            source, group_id, COALESCE(group_type, 'classic') AS group_type,
            LEAST(first_state_at, first_commit_at) AS first_at,
            GREATEST(last_state_at, latest_commit_at) AS last_at,
            last_state, most_members, COALESCE(rebalances, 0) AS rebalances,
            CASE WHEN lines_of_journal > 0 OR commits_of_journal > 0 THEN COALESCE(rebalancing_ms, 0)
                ELSE rebalancing_ms END AS rebalancing_ms,
            longest_rebalance_ms, COALESCE(commits, 0) AS commits, last_commit_at, most_lag, last_lag,
            COALESCE(expired_offsets, 0) AS expired_offsets, COALESCE(failed_requests, 0) AS failed_requests
        FROM states
        FULL JOIN stored USING (source, group_id)
        LEFT JOIN begun USING (source, group_id)
        LEFT JOIN lags USING (source, group_id)
        LEFT JOIN expired USING (source, group_id)
        LEFT JOIN failed USING (source, group_id)
    """)
