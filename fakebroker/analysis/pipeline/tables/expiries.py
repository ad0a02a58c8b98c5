"""Committed offsets that the broker dropped."""

from fakebroker.analysis.pipeline.contract import Check, Table, columns
from fakebroker.analysis.pipeline.recipe import Recipe

TABLE = Table(
    name="expiries",
    layer="silver",
    about="Committed offsets deleted by a cleanup of the broker, from `offset_expired` lines of journals",
    columns=columns("""
        source string: the run of the journal
        seq long: the entry of the journal
        part int: the line's number within that entry
        group_id string: the group
        topic string: the topic
        partition int: the partition of the topic
        committed_offset long: the offset that was committed
        committed_at timestamp?: its commit timestamp; null outside of the years 1 to 9999
        due_at timestamp?: the moment from which it was due; null outside of the years 1 to 9999
        expired_at timestamp: when the cleanup deleted it
        rule string: the rule that decided, such as EX-3
    """),
    key=("source", "seq", "part"),
    checks=(Check("not too early", "nothing expires before it is due", "expired_at < due_at"),),
)


def recipe() -> Recipe:
    """A row for each line."""
    return Recipe("""
        SELECT
            run AS source, seq, part, "group" AS group_id, topic, "partition", "offset" AS committed_offset,
            committed_ms AS committed_at, due_ms AS due_at, wall_ms AS expired_at, rule
        FROM events
        WHERE kind = 'offset_expired'
    """)
