"""What other retentions would have cost each group."""

from fakebroker.analysis.pipeline.contract import Check, Table, columns
from fakebroker.analysis.pipeline.recipe import Recipe
from fakebroker.analysis.pipeline.tables.retention_losses import EMBEDDED_ROWS, WhatifOptions

TABLE = Table(
    name="retention_whatif",
    layer="gold",
    about="For each group and each retention tried: the offsets that the group would have lost",
    columns=columns("""
        source string: the run of the journal, or the name of the log
        group_id string: the group
        retention_ms long: the retention (`offsets.retention.minutes`) that is tried
        partitions long: how many partitions the group ever committed for
        lost_offsets long: number of losses of committed offsets
        lost_partitions long: number of partitions with a loss
        first_lost_at timestamp?: the first time; null if nothing is lost
        last_lost_at timestamp?: the last time; null if nothing is lost
        came_back boolean: whether the group came back after a loss, and would have been reset
        reset_offsets long: number of losses that would have affected it when it came back
        read_again_records long?: with auto.offset.reset=earliest, how many records it would have read again, as far as known; null if unknown
        skipped_records long?: with auto.offset.reset=latest, how many records it would have skipped, as far as known; null if unknown
    """),
    key=("source", "group_id", "retention_ms"),
    checks=(
        Check(
            "losses and partitions",
            "partitions with a loss are at most those committed for, and at most the number of losses",
            "lost_partitions > partitions OR lost_partitions > lost_offsets OR reset_offsets > lost_offsets",
        ),
        Check(
            "every retention for every group",
            "each group has a row for each retention",
            "SELECT source, group_id FROM retention_whatif GROUP BY source, group_id"
            " HAVING COUNT(*) <> (SELECT COUNT(DISTINCT retention_ms) FROM retention_whatif)",
        ),
    ),
)


def recipe(options: WhatifOptions = WhatifOptions()) -> Recipe:
    """A row for each group that ever committed and each retention."""
    retentions = ", ".join(map(str, sorted(set(options.retentions_ms))))
    query = f"""
        SELECT
            source, group_id, retention_ms, partitions,
            COALESCE(lost_offsets, 0) AS lost_offsets, COALESCE(lost_partitions, 0) AS lost_partitions,
            first_lost_at, last_lost_at, COALESCE(reset_offsets, 0) > 0 AS came_back,
            COALESCE(reset_offsets, 0) AS reset_offsets, read_again_records, skipped_records
        FROM (
            SELECT source, group_id, COUNT(*) AS partitions
            FROM (
                SELECT DISTINCT source, group_id, topic, "partition" FROM commits WHERE committed_offset IS NOT NULL
            ) AS committed
            GROUP BY source, group_id
        ) AS known
        CROSS JOIN (SELECT UNNEST(LIST_VALUE({retentions})) AS retention_ms) AS retentions
        LEFT JOIN (
            SELECT
                source, group_id, retention_ms, COUNT(*) AS lost_offsets,
                COUNT(DISTINCT ROW(topic, "partition")) AS lost_partitions,
                MIN(lost_at) AS first_lost_at, MAX(lost_at) AS last_lost_at, COUNT(came_back_at) AS reset_offsets,
                SUM(read_again_records) AS read_again_records, SUM(skipped_records) AS skipped_records
            FROM retention_losses
            GROUP BY source, group_id, retention_ms
        ) AS lost USING (source, group_id, retention_ms)
    """
    return Recipe(query, embedded_rows=EMBEDDED_ROWS)
