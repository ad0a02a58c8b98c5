"""Members of groups, by generation."""

from fakebroker.analysis.pipeline.contract import ORIGIN, Table, columns
from fakebroker.analysis.pipeline.group_members import joined_members, member_rows, recorded_and_answered
from fakebroker.analysis.pipeline.recipe import Recipe

TABLE = Table(
    name="members",
    layer="silver",
    about="The members of a group in each generation, with the data of their join: of a classic group, from a log all members in its record, from a journal those whose JoinGroup was answered; of a newer group, from both, whenever a record says something new of a member",
    columns=columns("""
        group_id string: the group
        group_type string: classic, consumer, share or streams
        generation int?: the generation, or the member epoch in a newer group; null if unknown
        member_id string: the member id
        group_instance_id string?: the group instance id of a static member; else null
        client_id string?: the client id
        client_host string?: the client host; null if unknown
        rebalance_timeout_ms int?: its rebalance timeout; null if unknown
        session_timeout_ms int?: its session timeout; null if unknown
        protocol string?: the protocol that the group uses; null if unknown
        subscribed_topics strings?: the topics it subscribes to; null if unknown
        at timestamp?: when the record was stored, or the member got its answer
    """)
    + ORIGIN,
    key=("source", "log_partition", "log_offset", "seq", "part", "member_id"),
)


def recipe() -> Recipe:
    """The members that records name, and those of classic groups whose JoinGroup was answered."""
    return recorded_and_answered(TABLE, member_rows, "JoinGroup", joined_members)
