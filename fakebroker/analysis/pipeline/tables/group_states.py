"""The states of groups, as spans of time."""

from typing import Final

from fakebroker.analysis.pipeline.contract import ORIGIN, ORIGIN_KEY, Check, Table, columns, groups_have_one_partition
from fakebroker.analysis.pipeline.group_records import IN_LOGS, ORDER, TOGETHER
from fakebroker.analysis.pipeline.group_spans import spans
from fakebroker.analysis.pipeline.journal_spans import LINES_OF_NEWER, journal_spans
from fakebroker.analysis.pipeline.recipe import Recipe, Step, listed

TABLE = Table(
    name="group_states",
    layer="silver",
    about="The states of a group, a row for each span, from records of the log, or `transition`, `group_stored` and `coordinator_record` lines of a journal. For a classic group a log shows only Stable, Empty and Dead: a rebalance leaves no record before it ends. A group whose coordinator moves or reloads its log is not Dead",
    columns=columns("""
        group_id string: the group
        group_type string: classic, consumer, share or streams
        state string: the state, by Kafka's name
        generation int?: the generation, or the epoch of a newer group; null if unknown
        protocol_type string?: the protocol type, empty without one; null if unknown
        protocol string?: the protocol; null without one
        leader string?: the member id of the leader; null without one
        members int?: how many members; null if unknown
        subscribed_topics strings?: the topics that its members subscribe to; null if unknown
        state_at timestamp?: the group's own start time of its state (the current state timestamp), from which the retention of an Empty group counts; null if unknown
        began_at timestamp?: when the span began; null if its record has no time
        ended_at timestamp?: when the next one began; null for the last
        reason string?: why, in the journal's words; null from a log
    """)
    + ORIGIN,
    key=ORIGIN_KEY,
    checks=(
        groups_have_one_partition("group_states"),
        Check(
            "spans do not overlap",
            "a span ends when the next one begins",
            "SELECT * FROM (SELECT source, group_id, ended_at, LEAD(began_at) OVER (PARTITION BY source, group_id"
            " ORDER BY log_partition, log_offset, seq, part) AS next_at FROM group_states) AS spans"
            " WHERE ended_at <> next_at OR (ended_at IS NULL AND next_at IS NOT NULL)",
        ),
    ),
)


_EMBEDDED_ROWS: Final = 1_000_000  # records and lines of groups, in about 15 s on two cores
_CHANGES: Final = (
    "run", "group", "seq", "part", "kind", "wall_ms", "after", "generation", "reason", "how", "members", "state_ms",
    "group_type", "protocol_type", "protocol", "leader", "subscribed_topics", "record", "key", "value",
)  # fmt: skip


def recipe() -> Recipe:
    """The spans that records and lines begin, each until the next one of its group."""
    kinds = ", ".join(f"'{kind}'" for kind in ("transition", "group_stored", *LINES_OF_NEWER))
    changes = f"SELECT {listed(_CHANGES)} FROM events WHERE kind IN ({kinds})"
    columns = listed(name for name in TABLE.column_names if name != "ended_at")
    return Recipe(
        f"""
        SELECT
            {columns},
            LEAD(began_at) OVER (
                PARTITION BY source, group_id ORDER BY log_partition, log_offset, seq, part
            ) AS ended_at
        FROM (SELECT {columns} FROM recorded UNION ALL SELECT {columns} FROM journalled) AS spans
        """,
        (
            Step("recorded", TABLE, IN_LOGS, spans, TOGETHER, ORDER),
            Step("journalled", TABLE, changes, journal_spans, ("run", "group"), ("seq", "part")),
        ),
        _EMBEDDED_ROWS,
    )
