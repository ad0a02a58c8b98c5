"""Queries of the what-if: what happened to groups in its order, between which cleanups, and what of it counts.

Happened means: rows with `kind` (as in `retention_play.py`), `place` in the log or journal, and `raw_ms`, their own
time. Order is by places, never by times: when a clock goes back, cleanups that were are not taken back. `passes` is how
many cleanups came before.
"""

from collections.abc import Sequence
from typing import Final

from fakebroker.analysis.pipeline.recipe import listed
from fakebroker.analysis.pipeline.retention_moments import OF_GROUP
from fakebroker.analysis.pipeline.retention_play import PARTS

_LONG_AGO: Final = -(1 << 40)  # cleanups: before everything, for what has no time
_NO_TIME: Final = -(1 << 62)
_LOG_PART: Final = "COALESCE(log_partition, -1) AS log_part"
_PLACE: Final = f"COALESCE(log_offset, seq * {PARTS} + part)"
_KEY: Final = listed((*OF_GROUP, "topic", "partition"))
_OFFSET: Final = f"{_KEY}, own, committed_offset, committed_ms, expires_ms"

_COMMITS: Final = f"""(
    SELECT
        source, {_LOG_PART}, group_id, topic, "partition", {_PLACE} AS own, committed_offset,
        COALESCE(committed_at, "at") AS committed_ms, expires_at AS expires_ms, transactional, outcome, producer_id,
        "at" AS recorded_ms, applied_at AS applied_ms, COALESCE(applied_log_offset, {_PLACE}) AS applied
    FROM commits
) AS offsets"""

_STATES: Final = f"""(
    SELECT
        source, {_LOG_PART}, group_id, {_PLACE} AS place, began_at AS raw_ms, state, protocol_type, group_type,
        state_at, reason, subscribed_topics
    FROM group_states
) AS spans"""

_ABORTS: Final = f"""(
    SELECT source, {_LOG_PART}, producer_id, {_PLACE} AS place, "at" AS raw_ms
    FROM coordinator_records
    WHERE kind = 'abort' AND producer_id IS NOT NULL
) AS markers"""

ABORTED: Final = f"""
    SELECT {_OFFSET}, 'abort' AS kind, marker AS place, NULLIF(marker_ms, {_NO_TIME}) AS raw_ms
    FROM (
        SELECT
            *, LEAD(next_place IGNORE NULLS) OVER by_producer AS marker,
            LEAD(next_ms IGNORE NULLS) OVER by_producer AS marker_ms
        FROM (
            SELECT {_OFFSET}, producer_id, own AS place, NULL AS next_place, NULL AS next_ms
            FROM {_COMMITS}
            WHERE transactional AND outcome = 'aborted' AND committed_offset IS NOT NULL
            UNION ALL
            SELECT
                source, log_part, NULL, NULL, NULL, NULL, NULL, NULL, NULL, producer_id, place, place,
                COALESCE(raw_ms, {_NO_TIME})
            FROM {_ABORTS}
        ) AS in_transactions
        WINDOW by_producer AS (PARTITION BY source, log_part, producer_id ORDER BY place)
    ) AS decided
    WHERE next_place IS NULL AND marker IS NOT NULL
"""
"""Commits of transactions that were aborted, at the markers that end them."""

DELETIONS: Final = f"""
    SELECT
        run AS source, -1 AS log_part, "group" AS group_id, topic, "partition", seq * {PARTS} + part AS own,
        CAST(NULL AS BIGINT) AS committed_offset, CAST(NULL AS BIGINT) AS committed_ms,
        CAST(NULL AS BIGINT) AS expires_ms, 'tombstone' AS kind, seq * {PARTS} + part AS place, wall_ms AS raw_ms
    FROM events
    WHERE kind = 'offset_deleted'
"""
"""Deletions that a journal tells of; a log has tombstones for them, which are among its commits."""

_OFFSETS: Final = f"""
    SELECT
        {_OFFSET}, CASE WHEN committed_offset IS NULL THEN 'tombstone' ELSE 'commit' END AS kind,
        CASE WHEN committed_offset IS NULL THEN own ELSE applied END AS place, applied_ms AS raw_ms
    FROM {_COMMITS}
    WHERE committed_offset IS NULL OR outcome = 'committed'
    UNION ALL
    SELECT {_OFFSET}, 'pending' AS kind, own AS place, recorded_ms AS raw_ms
    FROM {_COMMITS}
    WHERE transactional AND committed_offset IS NOT NULL
    UNION ALL
    SELECT {_OFFSET}, kind, place, raw_ms FROM aborted
    UNION ALL
    SELECT {_OFFSET}, kind, place, raw_ms FROM deletions
"""


def grids(since_ms: int | None, until_ms: int | None, interval_ms: int) -> str:
    """For each source `since_ms`, and `last_pass`, the number of its last cleanup."""
    since = "MIN(first_ms)" if since_ms is None else str(since_ms)
    until = "MAX(last_ms)" if until_ms is None else str(until_ms)
    return f"""
        SELECT source, since_ms, GREATEST(CAST(FLOOR((until_ms - since_ms) / {interval_ms}) AS BIGINT), 0) AS last_pass
        FROM (
            SELECT source, {since} AS since_ms, {until} AS until_ms, MIN(first_ms) AS known_ms
            FROM (
                SELECT source, LEAST("at", applied_at) AS first_ms, GREATEST("at", applied_at) AS last_ms FROM commits
                UNION ALL
                SELECT source, began_at, began_at FROM group_states
            ) AS times
            GROUP BY source
        ) AS ends
        WHERE known_ms IS NOT NULL
    """


def seen(interval_ms: int) -> str:
    """For each count of cleanups, as times alone tell it, the first and the last place that has it.

    `is_mixed` says that a higher count began before the last of these places, `is_higher` that no higher one began
    before the first.
    """
    moments = f"""
        SELECT source, log_part, place, raw_ms FROM ({_OFFSETS}) AS of_offsets
        UNION ALL
        SELECT source, log_part, place, raw_ms FROM {_STATES}
        UNION ALL
        SELECT source, log_part, place, raw_ms FROM {_ABORTS}
    """
    return f"""
        SELECT
            *, COALESCE(MIN(first_place) OVER higher < last_place, FALSE) AS is_mixed,
            COALESCE(MAX(counted) OVER before < counted, TRUE) AS is_higher
        FROM (
            SELECT source, log_part, counted, MIN(place) AS first_place, MAX(place) AS last_place
            FROM ({_counted(moments, interval_ms)}) AS happened
            GROUP BY source, log_part, counted
        ) AS counts
        WINDOW
            higher AS (
                PARTITION BY source, log_part ORDER BY counted DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ),
            before AS (
                PARTITION BY source, log_part ORDER BY first_place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            )
    """


LATE: Final = """
    SELECT
        mixed.source, mixed.log_part, mixed.counted, higher.counted AS later, higher.first_place AS from_place,
        higher.to_place
    FROM (SELECT * FROM seen WHERE is_mixed) AS mixed
    JOIN (
        SELECT *, LEAD(first_place) OVER (PARTITION BY source, log_part ORDER BY first_place) AS to_place
        FROM seen
        WHERE is_higher
    ) AS higher
        ON mixed.source = higher.source AND mixed.log_part = higher.log_part AND mixed.counted < higher.counted
            AND mixed.last_place >= higher.first_place
"""
"""Where the clock had gone back: rows that count so many cleanups come after `later` ones, between these places."""


def _counted(rows: str, interval_ms: int) -> str:
    passes = f"CAST(FLOOR((raw_ms - since_ms) / {interval_ms}) AS BIGINT)"
    return f"""
        SELECT raw.*, since_ms, last_pass, COALESCE({passes}, {_LONG_AGO}) AS counted
        FROM ({rows}) AS raw
        JOIN grids ON raw.source = grids.source
    """


def _placed(rows: str, interval_ms: int) -> str:
    """The rows with `passes`, and `at_ms`, when they were, no earlier than these cleanups."""
    return f"""
        SELECT *, GREATEST(raw_ms, since_ms + passes * {interval_ms}) AS at_ms
        FROM (
            SELECT happened.*, COALESCE(later, happened.counted) AS passes
            FROM ({_counted(rows, interval_ms)}) AS happened
            LEFT JOIN late
                ON happened.source = late.source AND happened.log_part = late.log_part
                    AND happened.counted = late.counted AND happened.place >= from_place
                    AND (to_place IS NULL OR happened.place < to_place)
        ) AS after
    """


def states(interval_ms: int) -> str:
    """The states of groups, and whether something in a group may be kept longer than the others (`may_be_kept`)."""
    return f"""
        SELECT placed.*, kept.group_id IS NOT NULL AS may_be_kept
        FROM ({_placed(f"SELECT * FROM {_STATES}", interval_ms)}) AS placed
        LEFT JOIN (
            SELECT DISTINCT {listed(OF_GROUP)} FROM {_COMMITS} WHERE transactional OR expires_ms IS NOT NULL
        ) AS kept
            ON placed.source = kept.source AND placed.log_part = kept.log_part AND placed.group_id = kept.group_id
    """


MERGED: Final = f"""
    SELECT {listed(OF_GROUP)}, bucket, MIN(first_moment) AS first_moment, MAX(last_moment) AS last_moment
    FROM moments
    GROUP BY {listed(OF_GROUP)}, bucket
"""
"""Moments of groups, a row for each bucket."""


def _bucketed(interval_ms: int, bucket_passes: int) -> str:
    """What happened to offsets, and when: in which `bucket`, a time as long as the shortest retention."""
    return f"""
        SELECT {_OFFSET}, kind, place, raw_ms, passes, at_ms, CAST(FLOOR(passes / {bucket_passes}) AS BIGINT) AS bucket
        FROM ({_placed(_OFFSETS, interval_ms)}) AS placed
    """


def stretches(shortest_ms: int, interval_ms: int, bucket_passes: int) -> str:
    """Commits of a partition and a bucket put together, which Spark does where the rows are, before it sorts any.

    In a stretch that `is_whole` nothing is lost between its first commit and its last, whatever lies between: no offset
    is due by then, `shortest_ms` after its commit or by a time of its own, no transaction is there, and the group has
    no moment. Nor does it matter when an offset was there again after a deletion: it would to an Empty group alone.
    """
    of_commits = "FILTER (WHERE kind = 'commit')"
    is_like = "AND ".join(f"made.{name} = {{0}}.{name} " for name in OF_GROUP)
    return f"""
        SELECT
            made.*, COALESCE(
                unusual = 0 AND (tombstones = 0 OR emptied.group_id IS NULL)
                AND LEAST(least_ms + {shortest_ms}, least_expires_ms) > since_ms + (last_passes + 1) * {interval_ms}
                AND NOT COALESCE(first_moment <= last_passes AND last_moment >= first_passes, FALSE), FALSE
            ) AS is_whole
        FROM (
            SELECT
                {_KEY}, bucket, MIN(place) {of_commits} AS first_place, MAX(place) {of_commits} AS last_place,
                MIN(passes) {of_commits} AS first_passes, MAX(passes) {of_commits} AS last_passes,
                ARG_MIN_NULL(at_ms, place) {of_commits} AS first_ms, ARG_MAX_NULL(at_ms, place) {of_commits} AS last_ms,
                MIN(committed_ms) AS least_ms, MIN(expires_ms) AS least_expires_ms,
                ARG_MAX_NULL(committed_offset, place) {of_commits} AS committed_offset,
                ARG_MAX_NULL(committed_ms, place) {of_commits} AS committed_ms,
                ARG_MAX_NULL(expires_ms, place) {of_commits} AS expires_ms,
                COUNT(*) FILTER (WHERE kind = 'tombstone') AS tombstones,
                COUNT(*) FILTER (
                    WHERE kind <> 'tombstone' AND (kind <> 'commit' OR own <> place OR committed_ms IS NULL)
                ) AS unusual
            FROM ({_bucketed(interval_ms, bucket_passes)}) AS bucketed
            GROUP BY {_KEY}, bucket
        ) AS made
        JOIN grids ON made.source = grids.source
        LEFT JOIN (SELECT DISTINCT {listed(OF_GROUP)} FROM {_STATES} WHERE state = 'Empty') AS emptied
            ON {is_like.format("emptied")}
        LEFT JOIN merged
            ON {is_like.format("merged")} AND made.bucket = merged.bucket
    """


APART: Final = f"""
    SELECT {_KEY}, bucket, TRUE AS is_apart
    FROM stretches
    WHERE NOT is_whole AND (first_place IS NOT NULL OR unusual > 0)
"""
"""Stretches in which each commit counts."""


def _in_stretches(interval_ms: int, bucket_passes: int) -> str:
    """What happened to offsets: of whole stretches the first commit, which is never lost, the last, and deletions."""
    return f"""
        SELECT {_OFFSET}, kind, place, raw_ms, passes, at_ms, bucket
        FROM ({_bucketed(interval_ms, bucket_passes)}) AS bucketed
        LEFT JOIN apart USING ({_KEY}, bucket)
        WHERE kind = 'tombstone' OR is_apart
        UNION ALL
        SELECT
            {_KEY}, first_place, NULL, least_ms, least_expires_ms, 'commit', first_place, first_ms, first_passes,
            first_ms, bucket
        FROM stretches
        WHERE is_whole AND first_place < last_place
        UNION ALL
        SELECT
            {_KEY}, last_place, committed_offset, committed_ms, expires_ms, 'commit', last_place, last_ms, last_passes,
            last_ms, bucket
        FROM stretches
        WHERE is_whole
    """


_IN_ORDER: Final = f"in_order AS (PARTITION BY {_KEY} ORDER BY place, turn, own)"


def _bounded(interval_ms: int, bucket_passes: int) -> str:
    """What happened to offsets with the moments of their groups, and what was newest before.

    A commit of a transaction that a newer one has overtaken is no more than its end (OC-18).
    """
    return f"""
        WITH ordered AS (
            SELECT kept.*, since_ms, last_pass, CASE kind WHEN 'tombstone' THEN 0 ELSE 1 END AS turn
            FROM ({_in_stretches(interval_ms, bucket_passes)}) AS kept
            JOIN grids ON kept.source = grids.source
        ), bounded AS (
            SELECT
                ordered.*, first_moment, last_moment,
                MAX(CASE kind WHEN 'commit' THEN own END) OVER before AS newest,
                MAX(CASE kind WHEN 'tombstone' THEN own END) OVER before AS deleted_at
            FROM ordered
            LEFT JOIN merged
                ON ordered.source = merged.source AND ordered.log_part = merged.log_part
                    AND ordered.group_id = merged.group_id AND ordered.bucket = merged.bucket
            WINDOW before AS (
                PARTITION BY {listed((*OF_GROUP, "topic", "partition"), "ordered")} ORDER BY place, turn, own
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            )
        )
        SELECT * EXCLUDE (kind), CASE WHEN kind = 'commit' AND newest > own THEN 'abort' ELSE kind END AS kind
        FROM bounded
    """


def _counting(shortest_ms: int, interval_ms: int, bucket_passes: int) -> str:
    """The same; of commits whether they can be lost, and whether the one before could."""
    next_kind = "CASE WHEN kind IN ('commit', 'tombstone') THEN kind END"
    next_passes = "CASE WHEN kind IN ('commit', 'tombstone') THEN passes END"
    return f"""
        WITH followed AS (
            SELECT
                *, LEAD({next_passes} IGNORE NULLS) OVER in_order AS next_passes,
                LEAD({next_kind} IGNORE NULLS) OVER in_order AS next_kind,
                COALESCE(LEAD(own) OVER in_order = own AND LEAD(passes) OVER in_order = passes, FALSE) AS ends_at_once,
                COALESCE(LAG(own) OVER in_order = own AND LAG(passes) OVER in_order = passes, FALSE) AS began_at_once
            FROM ({_bounded(interval_ms, bucket_passes)}) AS effective
            WINDOW {_IN_ORDER}
        ), judged AS (
            SELECT
                *, CASE
                    WHEN kind <> 'commit' THEN NULL
                    ELSE next_passes IS NULL OR next_kind = 'tombstone' OR next_passes > passes + {bucket_passes}
                        OR LEAST(committed_ms + {shortest_ms}, expires_ms) <= since_ms + next_passes * {interval_ms}
                        OR COALESCE(first_moment <= next_passes AND last_moment >= passes, FALSE)
                        OR COALESCE(deleted_at > own, FALSE)
                END AS can_be_lost
            FROM followed
        )
        SELECT *, LAG(can_be_lost IGNORE NULLS) OVER in_order AS could_be_lost FROM judged WINDOW {_IN_ORDER}
    """


def happened(shortest_ms: int, interval_ms: int, bucket_passes: int) -> str:
    """What happened to groups, without the commits that are overwritten before any retention is over.

    Of these the first after an offset that can be lost stays: the group comes back with it, and has an offset again.
    """
    columns = f"{listed(OF_GROUP)}, place, turn, own, kind, passes, at_ms, raw_ms, since_ms, last_pass"
    return f"""
        SELECT
            {columns}, log_part >= 0 AS is_of_log, topic, "partition", committed_offset,
            COALESCE(committed_ms, at_ms) AS committed_ms, expires_ms, NOT COALESCE(can_be_lost, TRUE) AS is_safe,
            NULL AS state, NULL AS protocol_type, NULL AS group_type, NULL AS state_at, NULL AS reason,
            NULL AS subscribed_topics
        FROM ({_counting(shortest_ms, interval_ms, bucket_passes)}) AS counting
        WHERE CASE kind
            WHEN 'pending' THEN NOT ends_at_once
            WHEN 'commit' THEN can_be_lost OR COALESCE(could_be_lost, TRUE) OR (own <> place AND NOT began_at_once)
            ELSE TRUE
        END
        UNION ALL
        SELECT
            {columns}, log_part >= 0, NULL, NULL, NULL, NULL, NULL, FALSE,
            state, protocol_type, group_type, state_at, reason, subscribed_topics
        FROM (
            SELECT *, 1 AS turn, place AS own, 'state' AS kind
            FROM ({_placed(f"SELECT * FROM {_STATES}", interval_ms)}) AS placed
        ) AS of_groups
    """


def with_records(columns: Sequence[str]) -> str:
    """The losses, which have these columns, with what their groups would have read again or skipped when they returned.

    The end of the log that was known last decides; of several at the same time the highest. A negative offset is none
    to clients, which begin where they would after its loss.
    """
    of_end = ("source", "topic", "partition")
    nothing = ", ".join(f'"{name}"' if name in of_end else f'NULL AS "{name}"' for name in columns)
    return f"""
        WITH following AS (
            SELECT {listed(columns)}, NULL AS log_end, NULL AS log_start, came_back_at AS known_at, 1 AS turn
            FROM losses
            UNION ALL
            SELECT {nothing}, log_end_offset, COALESCE(log_start_offset, -1), "at", 0
            FROM log_ends
        ), known AS (
            SELECT
                {listed(columns)}, turn,
                CASE WHEN came_back_at IS NOT NULL THEN LAST_VALUE(log_end IGNORE NULLS) OVER until_then END AS log_end,
                NULLIF(LAST_VALUE(log_start IGNORE NULLS) OVER until_then, -1) AS log_start
            FROM following
            WINDOW until_then AS (
                PARTITION BY source, topic, "partition" ORDER BY known_at, turn, following.log_end, following.log_start
            )
        )
        SELECT
            {listed(columns)},
            CASE
                WHEN log_end IS NULL OR log_start IS NULL THEN NULL
                WHEN committed_offset < 0 THEN 0
                ELSE GREATEST(LEAST(committed_offset, log_end) - log_start, 0)
            END AS read_again_records,
            CASE
                WHEN log_end IS NULL THEN NULL
                WHEN committed_offset < 0 THEN 0
                ELSE GREATEST(log_end - committed_offset, 0)
            END AS skipped_records
        FROM known
        WHERE turn = 1
    """
