"""Lag of groups, minute by minute."""

from typing import Final

from fakebroker.analysis.pipeline.contract import Table, columns
from fakebroker.analysis.pipeline.recipe import Recipe

TABLE = Table(
    name="lag_minute",
    layer="gold",
    about="The lag of a group at the end of each minute in which a partition got records or a commit",
    columns=columns("""
        source string: the run of the journal, or the name of the log
        group_id string: the group
        topic string: the topic
        partition int: the partition of the topic
        minute_at timestamp: the beginning of the minute
        committed_offset long?: the group's committed offset at the end of the minute; null once it is deleted, or if it is negative, which clients treat as none
        log_end_offset long?: the end of the log at the end of the minute; null if unknown
        lag long?: log end minus committed offset, in records; null if either is unknown
    """),
    key=("source", "group_id", "topic", "partition", "minute_at"),
)


MINUTE_MS: Final = 60_000
_NONE: Final = -1
_PLACE: Final = "ROW(log_offset, own_offset, seq, part, changed_at)"
_LAST_OF_MINUTE: Final = ", ".join(
    ("minute_at", *(f"ARG_MAX_NULL({name}, {_PLACE}) AS {name}" for name in ("value", "seq", "part")))
)
_MINUTE: Final = f"CAST(FLOOR(changed_at / {MINUTE_MS}) AS BIGINT) * {MINUTE_MS}"


def recipe() -> Recipe:
    """How far each group was behind at the end of each minute in which it committed or a partition got records.

    Of each minute the last commit counts, and the last end of the log, by their places: (seq, part) of a journal; of a
    log the minute, then the offset. A minute that comes twice, because the clock went back, has one row. A committed
    offset below 0, which Kafka stores, is none to clients; here -1 stands for an offset that is gone, too.
    """
    return Recipe(f"""
        WITH changes AS (
            SELECT
                source, group_id, topic, "partition", applied_at AS changed_at,
                applied_log_offset AS log_offset, log_offset AS own_offset, seq, part,
                GREATEST(COALESCE(committed_offset, {_NONE}), {_NONE}) AS value
            FROM commits
            WHERE outcome = 'committed' AND applied_at IS NOT NULL
            UNION ALL
            SELECT source, group_id, topic, "partition", expired_at, NULL, NULL, seq, part, {_NONE} FROM expiries
            UNION ALL
            SELECT run, "group", topic, "partition", wall_ms, NULL, NULL, seq, part, {_NONE}
            FROM events
            WHERE kind = 'offset_deleted'
        ), committed AS (
            SELECT source, group_id, topic, "partition", {_LAST_OF_MINUTE}
            FROM (SELECT *, {_MINUTE} AS minute_at FROM changes) AS timed
            GROUP BY source, group_id, topic, "partition", minute_at
        ), ends AS (
            SELECT source, topic, "partition", {_LAST_OF_MINUTE}
            FROM (
                SELECT *, {_MINUTE} AS minute_at
                FROM (
                    SELECT source, topic, "partition", "at" AS changed_at, 0 AS log_offset, 0 AS own_offset, seq, part,
                        log_end_offset AS value
                    FROM log_ends
                ) AS known
            ) AS timed
            GROUP BY source, topic, "partition", minute_at
        ), steps AS (
            SELECT source, group_id, topic, "partition", minute_at, seq, part, value, NULL AS log_end FROM committed
            UNION ALL
            SELECT source, group_id, topic, "partition", minute_at, seq, part, NULL AS value, ends.value AS log_end
            FROM ends
            JOIN (SELECT DISTINCT source, group_id, topic, "partition" FROM committed) AS known_groups
                USING (source, topic, "partition")
        ), followed AS (
            SELECT
                source, group_id, topic, "partition", minute_at, value IS NOT NULL AS is_own,
                LAST_VALUE(value IGNORE NULLS) OVER so_far AS value,
                LAST_VALUE(log_end IGNORE NULLS) OVER so_far AS log_end,
                ROW_NUMBER() OVER so_far AS place
            FROM steps
            WINDOW so_far AS (
                PARTITION BY source, group_id, topic, "partition"
                ORDER BY COALESCE(seq, minute_at), COALESCE(part, 0), value IS NOT NULL
            )
        ), minutes AS (
            SELECT
                source, group_id, topic, "partition", minute_at,
                NULLIF(ARG_MAX_NULL(value, place), {_NONE}) AS committed_offset,
                ARG_MAX_NULL(log_end, place) AS log_end_offset,
                MAX(CASE WHEN is_own THEN 1 ELSE 0 END) AS own
            FROM followed
            GROUP BY source, group_id, topic, "partition", minute_at
        )
        SELECT *, log_end_offset - committed_offset AS lag
        FROM minutes
        WHERE committed_offset IS NOT NULL OR own = 1
    """)
