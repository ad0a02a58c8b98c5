"""Layouts of the keys and values in `__consumer_offsets` that we read and write (CR-3, CR-4, CR-7).

A key or value begins with its version as int16, which is not part of these.
"""

from fakebroker.protocol.schema import Bytes, Int32, Int64, Message, Row, Str, Uuid, field


class OffsetCommitKey(Message, versions="0", names="lowerCamel"):
    """Which partition of which group. Legacy key version 0 has the same layout as 1 (CR-3)."""

    group: Str = field("0", entity="groupId")
    topic: Str = field("0", entity="topicName")
    partition: Int32 = field("0", entity="partitionIndex")


class OffsetCommitValue(Message, versions="0-4", flexible="4+", names="lowerCamel"):
    """A committed offset. v1: expire timestamp; v3: leader epoch; v4: topic id."""

    offset: Int64 = field("0+")
    leader_epoch: Int32 = field("3+", default=-1, ignorable=True, entity="leaderEpoch")
    metadata: Str = field("0+", entity="committedMetadata")
    commit_timestamp: Int64 = field("0+", entity="timestamp")
    expire_timestamp: Int64 = field("1", default=-1, ignorable=True, entity="timestamp")
    topic_id: Uuid = field("4+", tag=0, ignorable=True, entity="topicId")


class GroupMetadataKey(Message, versions="0", names="lowerCamel"):
    """Which group."""

    group: Str = field("0", entity="groupId")


class MemberMetadata(Row, names="lowerCamel"):
    """A member: a plain tuple in the order of `MemberValue`. v1: rebalance timeout; v3: instance id."""

    member_id: Str = field("0+", entity="memberId")
    group_instance_id: Str | None = field("3+", nullable="3+", default=None, ignorable=True, entity="groupInstanceId")
    client_id: Str = field("0+")
    client_host: Str = field("0+")
    rebalance_timeout: Int32 = field("1+", default=-1, ignorable=True)
    session_timeout: Int32 = field("0+")
    subscription: Bytes = field("0+", entity="subscription")
    assignment: Bytes = field("0+", entity="assignment")


class GroupMetadataValue(Message, versions="0-4", flexible="4+", names="lowerCamel"):
    """A classic group. v2: when it entered its state."""

    protocol_type: Str = field("0+")
    generation: Int32 = field("0+", entity="generationId")
    protocol: Str | None = field("0+", nullable="0+")
    leader: Str | None = field("0+", nullable="0+", entity="memberId")
    current_state_timestamp: Int64 = field("2+", default=-1, ignorable=True, entity="timestamp")
    members: list[tuple[Str, Str | None, Str, Str, Int32, Int32, Bytes, Bytes]] = field("0+", row=MemberMetadata)
