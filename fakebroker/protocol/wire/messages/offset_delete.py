"""OffsetDelete, key 47: forgets committed offsets of topics the group no longer reads. One version."""

from fakebroker.protocol.schema import Int16, Int32, Message, Str, Struct, field


class OffsetDeleteRequestPartition(Struct):
    partition_index: Int32 = field("0+", entity="partitionIndex")


class OffsetDeleteRequestTopic(Struct):
    name: Str = field("0+", map_key=True, entity="topicName")
    partitions: list[OffsetDeleteRequestPartition] = field("0+")


class OffsetDeleteRequest(Message, api_key=47, versions="0"):
    group_id: Str = field("0+", entity="groupId")
    topics: list[OffsetDeleteRequestTopic] = field("0+")


class OffsetDeleteResponsePartition(Struct):
    partition_index: Int32 = field("0+", map_key=True, entity="partitionIndex")
    error_code: Int16 = field("0+", entity="errorCode")


class OffsetDeleteResponseTopic(Struct):
    name: Str = field("0+", map_key=True, entity="topicName")
    partitions: list[OffsetDeleteResponsePartition] = field("0+")


class OffsetDeleteResponse(Message, api_key=47, versions="0"):
    error_code: Int16 = field("0+", entity="errorCode")
    throttle_time_ms: Int32 = field("0+", ignorable=True)
    topics: list[OffsetDeleteResponseTopic] = field("0+")
