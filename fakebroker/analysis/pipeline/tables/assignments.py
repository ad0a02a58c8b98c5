"""Assigned partitions, by generation and member."""

from fakebroker.analysis.pipeline.contract import ORIGIN, Table, columns
from fakebroker.analysis.pipeline.group_members import answered_assignments, assignment_rows, recorded_and_answered
from fakebroker.analysis.pipeline.recipe import Recipe

TABLE = Table(
    name="assignments",
    layer="silver",
    about="The partitions that a member was assigned in a generation",
    columns=columns("""
        group_id string: the group
        group_type string: classic, consumer, share or streams
        generation int?: the generation, or the member epoch in a newer group; null if unknown
        member_id string: the member id
        topic string: the topic name, or its id if the record has only that; the subtopology for a streams group
        partition int: the partition of the topic
        at timestamp?: when the assignment was stored, or the member got its answer
    """)
    + ORIGIN,
    key=("source", "log_partition", "log_offset", "seq", "part", "member_id", "topic", "partition"),
)


def recipe() -> Recipe:
    """What records assign, and what members of classic groups got in answers to SyncGroup."""
    return recorded_and_answered(TABLE, assignment_rows, "SyncGroup", answered_assignments)
