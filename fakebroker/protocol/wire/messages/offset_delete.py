"""OffsetDelete, key 47: forgets committed offsets of topics the group no longer reads. One version."""

from fakebroker.protocol.schema import Int16, Int32, Message, Str, Struct, field


class OffsetDeleteRequestPartition(Struct):
    partition_index: Int32 = field("0+")


class OffsetDeleteRequestTopic(Struct):
    name: Str = field("0+", map_key=True)
    partitions: list[OffsetDeleteRequestPartition] = field("0+")


class OffsetDeleteRequest(Message, api_key=47, versions="0"):
    group_id: Str = field("0+")
    topics: list[OffsetDeleteRequestTopic] = field("0+")


class OffsetDeleteResponsePartition(Struct):
    partition_index: Int32 = field("0+", map_key=True)
    error_code: Int16 = field("0+")


class OffsetDeleteResponseTopic(Struct):
    name: Str = field("0+", map_key=True)
    partitions: list[OffsetDeleteResponsePartition] = field("0+")


class OffsetDeleteResponse(Message, api_key=47, versions="0"):
    error_code: Int16 = field("0+")
    throttle_time_ms: Int32 = field("0+", ignorable=True)
    topics: list[OffsetDeleteResponseTopic] = field("0+")
