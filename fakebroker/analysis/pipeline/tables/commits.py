"""Committed offsets, one row for each record."""

from typing import Final

from fakebroker.analysis.pipeline.contract import ORIGIN, ORIGIN_KEY, Check, Table, columns, groups_have_one_partition
from fakebroker.analysis.pipeline.distinct_records import DecodedOptions, distinct_records
from fakebroker.analysis.pipeline.recipe import Recipe

TABLE = Table(
    name="commits",
    layer="silver",
    about="Every committed offset: a row for each record of a log, and for each `offset_committed` line of a journal",
    columns=columns("""
        group_id string: the group
        topic string: the topic
        partition int: the partition of the topic
        committed_offset long?: the committed offset; null for a tombstone, which deletes it. Kafka also stores negative offsets, which clients treat as none
        leader_epoch int?: the leader epoch committed beside the offset, -1 without one; null for a tombstone
        metadata string?: the text committed beside the offset; null for a tombstone
        committed_at timestamp?: the commit timestamp in the value; null for a tombstone, or outside of the years 1 to 9999
        expires_at timestamp?: its expire timestamp, for a commit with its own retention (value version 1); else null
        topic_id string?: the id of the topic as Kafka writes it; null without one
        transactional boolean: whether it was committed in a transaction
        outcome string: `committed`; for a transaction also `aborted`, or `open` before its marker
        producer_id long?: the producer of the transaction; null without one
        at timestamp?: the timestamp of the record, or of the journal's line
        applied_at timestamp?: when it took effect: the time of the marker for a transaction; null if it never did
        applied_log_offset long?: the log offset with which it took effect: its own, or that of the marker; null if it never did, and for a row from a journal
        member_id string?: the member that committed, from a journal; null from a log
        generation int?: the generation it committed in, from a journal; null from a log
    """)
    + ORIGIN,
    key=ORIGIN_KEY,
    checks=(
        groups_have_one_partition("commits"),
        Check(
            "known outcomes",
            "the outcome is committed, aborted or open, and only a transaction is aborted or open",
            "outcome NOT IN ('committed', 'aborted', 'open') OR (NOT transactional AND outcome <> 'committed')",
        ),
    ),
)


_MARKERS_AHEAD: Final = 3
"""Of a producer's next markers so many are looked at. A leader refuses markers of an older epoch, so it is the first."""

_ONLY_IN_JOURNALS: Final = ("member_id", "generation", "seq", "part")
_IS_MARKER: Final = "(what = 'record' AND kind IN ('commit', 'abort') AND producer_id IS NOT NULL)"
_IS_COMMITTED: Final = "WHEN marker = 'commit'"
_FROM_JOURNALS: Final = """
    SELECT
        "group" AS group_id, topic, "partition", "offset" AS committed_offset, leader_epoch,
        COALESCE(metadata, '') AS metadata, committed_ms AS committed_at, expire_ms AS expires_at, NULL AS topic_id,
        transactional, CASE WHEN transactional THEN 'open' ELSE 'committed' END AS outcome, NULL AS producer_id,
        wall_ms AS "at", CASE WHEN NOT transactional THEN wall_ms END AS applied_at, NULL AS applied_log_offset,
        member_id, generation, run AS source, NULL AS log_partition, NULL AS log_offset, seq, part
    FROM events
    WHERE kind = 'offset_committed'
"""


def recipe(options: DecodedOptions = DecodedOptions()) -> Recipe:
    """A row for each offset commit of the logs, with the outcome of its transaction, and for each one of the journals.

    A commit without metadata has the empty text in a journal, as in the log. A journal does not tell how transactions
    end.
    """
    records = f"({distinct_records(options)}) AS records"
    plain = _of_log(f"{records} WHERE what = 'commit' AND NOT transactional", "'committed'", '"at"', "log_offset")
    queries = [plain, _FROM_JOURNALS]
    if options.has_transactions:
        outcome = f"CASE {_IS_COMMITTED} THEN 'committed' WHEN marker IS NULL THEN 'open' ELSE 'aborted' END"
        applied = (f"CASE {_IS_COMMITTED} THEN {name} END" for name in ("marker_at", "marker_offset"))
        queries.append(_of_log(f"({_decided(records)}) AS decided", outcome, *applied))
    return Recipe(" UNION ALL ".join(queries))


def _of_log(rows: str, outcome: str, applied_at: str, applied_log_offset: str) -> str:
    made = dict.fromkeys(_ONLY_IN_JOURNALS, "NULL")
    made |= {"outcome": outcome, "applied_at": applied_at, "applied_log_offset": applied_log_offset}
    columns = ", ".join(f'{made[name]} AS "{name}"' if name in made else f'"{name}"' for name in TABLE.column_names)
    return f"SELECT {columns} FROM {rows}"


def _decided(records: str) -> str:
    """Commits of transactions with the marker that decides about each: kind, `marker_at`, `marker_offset`.

    It is the first behind the commit, of its producer and in its partition, whose epoch is not older (KIP-98).
    """
    numbers = range(1, _MARKERS_AHEAD + 1)
    ahead = ", ".join(
        f"LEAD({name}, {number} IGNORE NULLS) OVER by_producer AS {name}_{number}"
        for number in numbers
        for name in ("next_offset", "next_epoch")
    )
    choice = " ".join(f"WHEN next_epoch_{number} >= epoch THEN next_offset_{number}" for number in numbers)
    return f"""
        SELECT *
        FROM (
            SELECT *, CASE {choice} END AS marker_offset
            FROM (
                SELECT *, {ahead}
                FROM (
                    SELECT
                        *, COALESCE(producer_epoch, 0) AS epoch,
                        CASE WHEN {_IS_MARKER} THEN log_offset END AS next_offset,
                        CASE WHEN {_IS_MARKER} THEN COALESCE(producer_epoch, 0) END AS next_epoch
                    FROM {records}
                    WHERE {_IS_MARKER} OR (what = 'commit' AND transactional)
                ) AS in_transactions
                WINDOW by_producer AS (PARTITION BY source, log_partition, producer_id ORDER BY log_offset)
            ) AS with_next
            WHERE what = 'commit'
        ) AS chosen
        LEFT JOIN (
            SELECT
                source AS marker_source, log_partition AS marker_partition, log_offset AS marker_place, kind AS marker,
                "at" AS marker_at
            FROM {records}
            WHERE {_IS_MARKER}
        ) AS markers
            ON source = marker_source AND log_partition = marker_partition AND marker_offset = marker_place
    """
