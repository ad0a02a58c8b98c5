"""Expiry audit: recorded and recomputed must agree."""

from typing import Final

from fakebroker.analysis.pipeline.contract import Check, Table, columns
from fakebroker.analysis.pipeline.expiry_replay import END, audited
from fakebroker.analysis.pipeline.recipe import Recipe, Step, listed

TABLE = Table(
    name="expiry_audit",
    layer="gold",
    about="Every offset that expired, or should have: the journal's record of it, compared with the rules, recomputed from the journal's other lines",
    columns=columns("""
        source string: the run of the journal
        group_id string: the group
        topic string: the topic
        partition int: the partition of the topic
        committed_offset long: the offset that was committed
        committed_at timestamp?: the commit timestamp; null if it is outside of the years 1 to 9999
        commit_seq long?: the entry of the journal that committed it; null if there is none
        commit_part int?: the line's number within that entry
        expiry_seq long?: the entry of the journal with its expiry; null if none was recorded
        expiry_part int?: the line's number within that entry
        recorded_at timestamp?: when it expired; null if that was not recorded
        recorded_due_at timestamp?: the moment from which it was due, as recorded
        recorded_rule string?: the rule that decided, as recorded
        recomputed_due_at timestamp?: the moment from which it was due by the rules; null if it was never due, or if unknown
        recomputed_rule string?: the rule that decides
        agrees boolean?: whether both agree; null if nothing could be recomputed
        unknown_because string?: why nothing could be recomputed: `commit not in the journal`, `offset of a transaction`, `broker not in the journal`, `subscriptions not in the journal`; null otherwise
    """),
    key=("source", "commit_seq", "commit_part", "expiry_seq", "expiry_part"),
    checks=(
        Check("recorded = recomputed", "offsets expire according to the rules", "NOT agrees"),
        Check(
            "known, or a reason given",
            "a row agrees, disagrees, or gives the reason why that is unknown",
            "(agrees IS NULL) <> (unknown_because IS NOT NULL)",
        ),
    ),
)


_OF_GROUPS: Final = (
    *("transition", "group_stored", "coordinator_record"),
    *("offset_committed", "offset_deleted", "offset_expired"),
)
_COLUMNS: Final = (
    "run", "seq", "part", "kind", "wall_ms", "group", "topic", "partition", "offset", "committed_ms", "expire_ms",
    "due_ms", "rule", "transactional", "after", "reason", "how", "members", "state_ms", "group_type", "protocol_type",
    "subscribed_topics", "release", "settings", "from_ms", "to_ms", "record", "key", "value",
)  # fmt: skip
_AT_THE_END: Final = {
    "run": "run", "seq": "9223372036854775807", "part": "0", "kind": f"'{END}'", "wall_ms": "last_ms"
}  # fmt: skip


def recipe() -> Recipe:
    """The lines of each group are played again, with those of its run that matter to all groups."""
    of_groups = ", ".join(f"'{kind}'" for kind in _OF_GROUPS)
    at_the_end = ", ".join(f'{_AT_THE_END.get(name, "NULL")} AS "{name}"' for name in _COLUMNS)
    lines = f"""
        WITH own AS (
            SELECT {listed(_COLUMNS)}, "group" AS of_group FROM events WHERE kind IN ({of_groups})
        ), named AS (
            SELECT DISTINCT run, of_group FROM own
        ), shared AS (
            SELECT {listed(_COLUMNS)}
            FROM events
            WHERE kind IN ('broker_started', 'node_changed') OR (kind = 'clock_moved' AND to_ms < from_ms)
            UNION ALL
            SELECT {at_the_end}
            FROM (SELECT run, ARG_MAX_NULL(wall_ms, ROW(seq, part)) AS last_ms FROM events GROUP BY run) AS ends
        )
        SELECT * FROM own
        UNION ALL
        SELECT {listed(_COLUMNS, "shared")}, of_group FROM shared JOIN named ON shared.run = named.run
    """
    return Recipe(
        "SELECT * FROM audited", (Step("audited", TABLE, lines, audited, ("run", "of_group"), ("seq", "part")),)
    )
