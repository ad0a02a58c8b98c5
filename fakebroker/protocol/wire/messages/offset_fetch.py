"""OffsetFetch, key 9.

v2: null means all topics; an error for the whole group. v3: throttle time. v5: leader epoch. v6: flexible. v7: the
client may insist on stable offsets. v8: many groups at once, in place of the single one. v9: member id and epoch of
the new group protocol. v10: topic ids in place of names. v1, v4: nothing new on the wire.
The partitions of the answer are rows.
"""

from fakebroker.protocol.schema import Bool, Int16, Int32, Int64, Message, Row, Str, Struct, Uuid, field


class OffsetFetchRequestTopic(Struct):
    name: Str = field("0-7", entity="topicName")
    partition_indexes: list[Int32] = field("0-7", entity="partitionIndex")


class OffsetFetchRequestTopics(Struct):
    name: Str = field("8-9", ignorable=True, entity="topicName")
    topic_id: Uuid = field("10+", ignorable=True, entity="topicId")
    partition_indexes: list[Int32] = field("8+", entity="partitionIndex")


class OffsetFetchRequestGroup(Struct):
    group_id: Str = field("8+", entity="groupId")
    member_id: Str | None = field("9+", nullable="9+", default=None, ignorable=True, entity="memberId")
    member_epoch: Int32 = field("9+", default=-1, ignorable=True)
    topics: list[OffsetFetchRequestTopics] | None = field("8+", nullable="8+")


class OffsetFetchRequest(Message, api_key=9, versions="0-10", flexible="6+"):
    group_id: Str = field("0-7", entity="groupId")
    topics: list[OffsetFetchRequestTopic] | None = field("0-7", nullable="2-7")
    groups: list[OffsetFetchRequestGroup] = field("8+")
    require_stable: Bool = field("7+")


class OffsetFetchResponsePartition(Row):
    partition_index: Int32 = field("0-7", entity="partitionIndex")
    committed_offset: Int64 = field("0-7")
    committed_leader_epoch: Int32 = field("5-7", default=-1, ignorable=True, entity="leaderEpoch")
    metadata: Str | None = field("0-7", nullable="0-7", entity="committedMetadata")
    error_code: Int16 = field("0-7", entity="errorCode")


class OffsetFetchResponseTopic(Struct):
    name: Str = field("0-7", entity="topicName")
    partitions: list[tuple[Int32, Int64, Int32, Str | None, Int16]] = field("0-7", row=OffsetFetchResponsePartition)


class OffsetFetchResponsePartitions(Row):
    partition_index: Int32 = field("8+", entity="partitionIndex")
    committed_offset: Int64 = field("8+")
    committed_leader_epoch: Int32 = field("8+", default=-1, ignorable=True, entity="leaderEpoch")
    metadata: Str | None = field("8+", nullable="8+", entity="committedMetadata")
    error_code: Int16 = field("8+", entity="errorCode")


class OffsetFetchResponseTopics(Struct):
    name: Str = field("8-9", ignorable=True, entity="topicName")
    topic_id: Uuid = field("10+", ignorable=True, entity="topicId")
    partitions: list[tuple[Int32, Int64, Int32, Str | None, Int16]] = field("8+", row=OffsetFetchResponsePartitions)


class OffsetFetchResponseGroup(Struct):
    group_id: Str = field("8+", entity="groupId")
    topics: list[OffsetFetchResponseTopics] = field("8+")
    error_code: Int16 = field("8+", entity="errorCode")


class OffsetFetchResponse(Message, api_key=9, versions="0-10", flexible="6+"):
    throttle_time_ms: Int32 = field("3+", ignorable=True)
    topics: list[OffsetFetchResponseTopic] = field("0-7")
    error_code: Int16 = field("2-7", ignorable=True, entity="errorCode")
    groups: list[OffsetFetchResponseGroup] = field("8+")
