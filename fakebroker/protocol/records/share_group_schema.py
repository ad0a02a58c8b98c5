"""Layouts of the records that share groups (KIP-932) keep in `__consumer_offsets`: types 10 to 15.

A key begins with its type as int16 and a value with its version as int16, which are not part of these. What share
groups have acknowledged is in another log, `__share_group_state`.
"""

from fakebroker.protocol.records.consumer_group_schema import TargetPartitions
from fakebroker.protocol.schema import Int8, Int32, Int64, Message, Str, Struct, Uuid, field


class ShareGroupMemberMetadataKey(Message, versions="0", names="lowerCamel"):
    """Type 10: which member of which group."""

    group_id: Str = field("0")
    member_id: Str = field("0")


class ShareGroupMemberMetadataValue(Message, versions="0", flexible="0+", names="lowerCamel"):
    """What a member reported about itself."""

    rack_id: Str | None = field("0+", nullable="0+")
    client_id: Str = field("0+")
    client_host: Str = field("0+")
    subscribed_topic_names: list[Str] = field("0+")


class ShareGroupMetadataKey(Message, versions="0", names="lowerCamel"):
    """Type 11: which group."""

    group_id: Str = field("0")


class ShareGroupMetadataValue(Message, versions="0", flexible="0+", names="lowerCamel"):
    """The group's epoch, and a hash of the metadata of the topics it has subscribed to."""

    epoch: Int32 = field("0+")
    metadata_hash: Int64 = field("0+")


class ShareGroupTargetAssignmentMetadataKey(Message, versions="0", names="lowerCamel"):
    """Type 12: which group."""

    group_id: Str = field("0")


class ShareGroupTargetAssignmentMetadataValue(Message, versions="0", flexible="0+", names="lowerCamel"):
    """The epoch of the target assignment, and when it was computed."""

    assignment_epoch: Int32 = field("0+")
    assignment_timestamp: Int64 = field("0+", tag=0, ignorable=True)


class ShareGroupTargetAssignmentMemberKey(Message, versions="0", names="lowerCamel"):
    """Type 13: which member of which group."""

    group_id: Str = field("0")
    member_id: Str = field("0")


class ShareGroupTargetAssignmentMemberValue(Message, versions="0", flexible="0+", names="lowerCamel"):
    """What the member shall have."""

    topic_partitions: list[TargetPartitions] = field("0+")


class ShareGroupCurrentMemberAssignmentKey(Message, versions="0", names="lowerCamel"):
    """Type 14: which member of which group."""

    group_id: Str = field("0")
    member_id: Str = field("0")


class ShareGroupCurrentMemberAssignmentValue(Message, versions="0", flexible="0+", names="lowerCamel"):
    """What the member has."""

    member_epoch: Int32 = field("0+")
    previous_member_epoch: Int32 = field("0+")
    state: Int8 = field("0+")
    assigned_partitions: list[TargetPartitions] = field("0+")


class ShareGroupStatePartitionMetadataKey(Message, versions="0", names="lowerCamel"):
    """Type 15: which group."""

    group_id: Str = field("0")


class TopicPartitionsInfo(Struct, names="lowerCamel"):
    """Partitions of a topic whose state is kept, or will be."""

    topic_id: Uuid = field("0+")
    topic_name: Str = field("0+")
    partitions: list[Int32] = field("0+")


class DeletingTopic(Struct, names="lowerCamel"):
    """A topic whose state is being deleted."""

    topic_id: Uuid = field("0+")
    topic_name: Str = field("0+")


class ShareGroupStatePartitionMetadataValue(Message, versions="0", flexible="0+", names="lowerCamel"):
    """The partitions for which the share coordinator keeps state of this group."""

    initializing_topics: list[TopicPartitionsInfo] = field("0+")
    initialized_topics: list[TopicPartitionsInfo] = field("0+")
    deleting_topics: list[DeletingTopic] = field("0+")
