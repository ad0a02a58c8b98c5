"""Layouts of the records that consumer groups (KIP-848) keep in `__consumer_offsets`: types 3 to 8 and 16.

A key begins with its type as int16 and a value with its version as int16, which are not part of these. Field names are
those that Kafka's own tools print: the names of the schema files with a small first letter. A tagged field whose
default is JSON's null there has an empty struct or list as its default in Kafka, and null is written out.
"""

from fakebroker.protocol.schema import Bytes, Int8, Int32, Int64, Message, Str, Struct, Uuid, field


class ConsumerGroupMetadataKey(Message, versions="0", names="lowerCamel"):
    """Type 3: which group."""

    group_id: Str = field("0")


class ConsumerGroupMetadataValue(Message, versions="0", flexible="0+", names="lowerCamel"):
    """The group's epoch, and a hash of the metadata of the topics it has subscribed to."""

    epoch: Int32 = field("0+")
    metadata_hash: Int64 = field("0+", tag=0)


class ConsumerGroupPartitionMetadataKey(Message, versions="0", names="lowerCamel"):
    """Type 4: which group. Releases since 4.1 write only tombstones of it."""

    group_id: Str = field("0")


class PartitionMetadata(Struct, names="lowerCamel"):
    """A partition and the racks of its replicas."""

    partition: Int32 = field("0+")
    racks: list[Str] = field("0+")


class TopicMetadata(Struct, names="lowerCamel"):
    """A topic as the group saw it."""

    topic_id: Uuid = field("0+")
    topic_name: Str = field("0+")
    num_partitions: Int32 = field("0+")
    partition_metadata: list[PartitionMetadata] = field("0+")


class ConsumerGroupPartitionMetadataValue(Message, versions="0", flexible="0+", names="lowerCamel"):
    """The topics that the group has subscribed to."""

    topics: list[TopicMetadata] = field("0+")


class ConsumerGroupMemberMetadataKey(Message, versions="0", names="lowerCamel"):
    """Type 5: which member of which group."""

    group_id: Str = field("0")
    member_id: Str = field("0")


class ClassicProtocol(Struct, names="lowerCamel"):
    """A protocol that a member of the classic kind supports."""

    name: Str = field("0+")
    metadata: Bytes = field("0+")


class ClassicMemberMetadata(Struct, names="lowerCamel"):
    """What a member reported that joined with JoinGroup."""

    session_timeout_ms: Int32 = field("0+")
    supported_protocols: list[ClassicProtocol] = field("0+")


class ConsumerGroupMemberMetadataValue(Message, versions="0", flexible="0+", names="lowerCamel"):
    """What a member reported about itself. `classic_member_metadata` is null for a member of the new kind."""

    instance_id: Str | None = field("0+", nullable="0+")
    rack_id: Str | None = field("0+", nullable="0+")
    client_id: Str = field("0+")
    client_host: Str = field("0+")
    subscribed_topic_names: list[Str] = field("0+")
    subscribed_topic_regex: Str | None = field("0+", nullable="0+")
    rebalance_timeout_ms: Int32 = field("0+", default=-1)
    server_assignor: Str | None = field("0+", nullable="0+")
    classic_member_metadata: ClassicMemberMetadata | None = field("0+", nullable="0+", tag=0)


class ConsumerGroupTargetAssignmentMetadataKey(Message, versions="0", names="lowerCamel"):
    """Type 6: which group."""

    group_id: Str = field("0")


class ConsumerGroupTargetAssignmentMetadataValue(Message, versions="0", flexible="0+", names="lowerCamel"):
    """The epoch of the target assignment, and when it was computed."""

    assignment_epoch: Int32 = field("0+")
    assignment_timestamp: Int64 = field("0+", tag=0, ignorable=True)


class ConsumerGroupTargetAssignmentMemberKey(Message, versions="0", names="lowerCamel"):
    """Type 7: which member of which group."""

    group_id: Str = field("0")
    member_id: Str = field("0")


class TargetPartitions(Struct, names="lowerCamel"):
    """The partitions of a topic that a member shall have."""

    topic_id: Uuid = field("0+")
    partitions: list[Int32] = field("0+")


class ConsumerGroupTargetAssignmentMemberValue(Message, versions="0", flexible="0+", names="lowerCamel"):
    """What the member shall have."""

    topic_partitions: list[TargetPartitions] = field("0+")


class ConsumerGroupCurrentMemberAssignmentKey(Message, versions="0", names="lowerCamel"):
    """Type 8: which member of which group."""

    group_id: Str = field("0")
    member_id: Str = field("0")


class AssignedPartitions(Struct, names="lowerCamel"):
    """Partitions of a topic that a member has, and in newer releases the epoch in which it got each."""

    topic_id: Uuid = field("0+")
    partitions: list[Int32] = field("0+")
    assignment_epochs: list[Int32] | None = field("0+", nullable="0+", tag=0)


class ConsumerGroupCurrentMemberAssignmentValue(Message, versions="0", flexible="0+", names="lowerCamel"):
    """What the member has, and what it still has to give up."""

    member_epoch: Int32 = field("0+")
    previous_member_epoch: Int32 = field("0+")
    state: Int8 = field("0+")
    assigned_partitions: list[AssignedPartitions] = field("0+")
    partitions_pending_revocation: list[AssignedPartitions] = field("0+")


class ConsumerGroupRegularExpressionKey(Message, versions="0", names="lowerCamel"):
    """Type 16: which regular expression of which group."""

    group_id: Str = field("0")
    regular_expression: Str = field("0")


class ConsumerGroupRegularExpressionValue(Message, versions="0", flexible="0+", names="lowerCamel"):
    """The topics that it matched, in which version of the metadata, and when."""

    topics: list[Str] = field("0+")
    version: Int64 = field("0+")
    timestamp: Int64 = field("0+")
