"""Layouts of the records that streams groups (KIP-1071) keep in `__consumer_offsets`: types 17 and 19 to 23.

A key begins with its type as int16 and a value with its version as int16, which are not part of these.
"""

from fakebroker.protocol.schema import Int8, Int16, Int32, Int64, Message, Str, Struct, UInt16, field


class StreamsGroupMetadataKey(Message, versions="0", names="lowerCamel"):
    """Type 17: which group."""

    group_id: Str = field("0")


class LastAssignmentConfig(Struct, names="lowerCamel"):
    """A setting of the assignor that the last assignment was made with."""

    key: Str = field("0+")
    value: Str = field("0+")


class StreamsGroupMetadataValue(Message, versions="0", flexible="0+", names="lowerCamel"):
    """The group's epoch, and what it was checked against and assigned with."""

    epoch: Int32 = field("0+")
    metadata_hash: Int64 = field("0+")
    validated_topology_epoch: Int32 = field("0+", default=-1, tag=0)
    last_assignment_configs: list[LastAssignmentConfig] | None = field("0+", nullable="0+", tag=1)


class StreamsGroupMemberMetadataKey(Message, versions="0", names="lowerCamel"):
    """Type 19: which member of which group."""

    group_id: Str = field("0")
    member_id: Str = field("0")


class Endpoint(Struct, names="lowerCamel"):
    """Where an application answers interactive queries."""

    host: Str = field("0+")
    port: UInt16 = field("0+")


class ClientTag(Struct, names="lowerCamel"):
    """A tag by which standby tasks are spread."""

    key: Str = field("0+")
    value: Str = field("0+")


class StreamsGroupMemberMetadataValue(Message, versions="0", flexible="0+", names="lowerCamel"):
    """What a member reported about itself."""

    instance_id: Str | None = field("0+", nullable="0+")
    rack_id: Str | None = field("0+", nullable="0+")
    client_id: Str = field("0+")
    client_host: Str = field("0+")
    rebalance_timeout_ms: Int32 = field("0+", default=-1)
    topology_epoch: Int32 = field("0+")
    process_id: Str = field("0+")
    user_endpoint: Endpoint | None = field("0+", nullable="0+", default=None)
    client_tags: list[ClientTag] = field("0+")


class StreamsGroupTargetAssignmentMetadataKey(Message, versions="0", names="lowerCamel"):
    """Type 20: which group."""

    group_id: Str = field("0")


class StreamsGroupTargetAssignmentMetadataValue(Message, versions="0", flexible="0+", names="lowerCamel"):
    """The epoch of the target assignment, and when it was computed."""

    assignment_epoch: Int32 = field("0+")
    assignment_timestamp: Int64 = field("0+", tag=0, ignorable=True)


class StreamsGroupTargetAssignmentMemberKey(Message, versions="0", names="lowerCamel"):
    """Type 21: which member of which group."""

    group_id: Str = field("0")
    member_id: Str = field("0")


class TargetTasks(Struct, names="lowerCamel"):
    """The tasks of a subtopology that a member shall have: a task is a partition of it."""

    subtopology_id: Str = field("0+")
    partitions: list[Int32] = field("0+")


class StreamsGroupTargetAssignmentMemberValue(Message, versions="0", flexible="0+", names="lowerCamel"):
    """What the member shall have."""

    active_tasks: list[TargetTasks] = field("0+")
    standby_tasks: list[TargetTasks] = field("0+")
    warmup_tasks: list[TargetTasks] = field("0+")


class StreamsGroupCurrentMemberAssignmentKey(Message, versions="0", names="lowerCamel"):
    """Type 22: which member of which group."""

    group_id: Str = field("0")
    member_id: Str = field("0")


class AssignedTasks(Struct, names="lowerCamel"):
    """Tasks of a subtopology that a member has, and the epoch in which it got each where that is kept."""

    subtopology_id: Str = field("0+")
    partitions: list[Int32] = field("0+")
    assignment_epochs: list[Int32] | None = field("0+", nullable="0+", tag=0)


class StreamsGroupCurrentMemberAssignmentValue(Message, versions="0", flexible="0+", names="lowerCamel"):
    """What the member has, and what it still has to give up."""

    member_epoch: Int32 = field("0+")
    previous_member_epoch: Int32 = field("0+")
    state: Int8 = field("0+")
    active_tasks: list[AssignedTasks] = field("0+")
    standby_tasks: list[AssignedTasks] = field("0+")
    warmup_tasks: list[AssignedTasks] = field("0+")
    active_tasks_pending_revocation: list[AssignedTasks] = field("0+")
    standby_tasks_pending_revocation: list[AssignedTasks] = field("0+")
    warmup_tasks_pending_revocation: list[AssignedTasks] = field("0+")


class StreamsGroupTopologyKey(Message, versions="0", names="lowerCamel"):
    """Type 23: which group."""

    group_id: Str = field("0")


class TopicConfig(Struct, names="lowerCamel"):
    """A setting of a topic that the application needs."""

    key: Str = field("0+")
    value: Str = field("0+")


class InternalTopic(Struct, names="lowerCamel"):
    """A topic that the application needs for itself; 0 partitions: as many as the subtopology has tasks."""

    name: Str = field("0+")
    partitions: Int32 = field("0+")
    replication_factor: Int16 = field("0+")
    topic_configs: list[TopicConfig] = field("0+")


class CopartitionGroup(Struct, names="lowerCamel"):
    """Topics that must have the same number of partitions, as indexes into the lists of the subtopology."""

    source_topics: list[Int16] = field("0+")
    source_topic_regex: list[Int16] = field("0+")
    repartition_source_topics: list[Int16] = field("0+")


class Subtopology(Struct, names="lowerCamel"):
    """A part of the topology whose tasks are assigned together."""

    subtopology_id: Str = field("0+")
    source_topics: list[Str] = field("0+")
    source_topic_regex: list[Str] = field("0+")
    state_changelog_topics: list[InternalTopic] = field("0+")
    repartition_sink_topics: list[Str] = field("0+")
    repartition_source_topics: list[InternalTopic] = field("0+")
    copartition_groups: list[CopartitionGroup] = field("0+")


class StreamsGroupTopologyValue(Message, versions="0", flexible="0+", names="lowerCamel"):
    """The topology of the application."""

    epoch: Int32 = field("0+")
    subtopologies: list[Subtopology] = field("0+")
