"""Committed offsets that the broker dropped."""

from fakebroker.analysis.pipeline.contract import Check, Column, Table
from fakebroker.analysis.pipeline.recipe import Recipe

TABLE = Table(
    name="expiries",
    layer="silver",
    about="Committed offsets deleted by a cleanup of the broker, from `offset_expired` lines of journals",
    columns=(
        Column("source", "string", "the run of the journal"),
        Column("seq", "long", "the entry of the journal"),
        Column("part", "int", "the line's number within that entry"),
        Column("group_id", "string", "the group"),
        Column("topic", "string", "the topic"),
        Column("partition", "int", "the partition of the topic"),
        Column("committed_offset", "long", "the offset that was committed"),
        Column("committed_at", "timestamp", "its commit timestamp; null outside of the years 1 to 9999", True),
        Column("due_at", "timestamp", "the moment from which it was due; null outside of the years 1 to 9999", True),
        Column("expired_at", "timestamp", "when the cleanup deleted it"),
        Column("rule", "string", "the rule that decided, such as EX-3"),
    ),
    key=("source", "seq", "part"),
    checks=(
        Check("not too early", "nothing expires before it is due", "SELECT * FROM expiries WHERE expired_at < due_at"),
    ),
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
