"""AlterShareGroupOffsets, key 91: give partitions of a share group other start offsets."""

from fakebroker.protocol.schema import Int16, Int32, Int64, Message, Str, Struct, Uuid, field


class AlterShareGroupOffsetsRequestPartition(Struct):
    partition_index: Int32 = field("0+", entity="partitionIndex")
    start_offset: Int64 = field("0+")


class AlterShareGroupOffsetsRequestTopic(Struct):
    topic_name: Str = field("0+", map_key=True, entity="topicName")
    partitions: list[AlterShareGroupOffsetsRequestPartition] = field("0+")


class AlterShareGroupOffsetsRequest(Message, api_key=91, versions="0", flexible="0+"):
    group_id: Str = field("0+", entity="groupId")
    topics: list[AlterShareGroupOffsetsRequestTopic] = field("0+")


class AlterShareGroupOffsetsResponsePartition(Struct):
    partition_index: Int32 = field("0+", entity="partitionIndex")
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+", default=None)


class AlterShareGroupOffsetsResponseTopic(Struct):
    topic_name: Str = field("0+", map_key=True, entity="topicName")
    topic_id: Uuid = field("0+", entity="topicId")
    partitions: list[AlterShareGroupOffsetsResponsePartition] = field("0+")


class AlterShareGroupOffsetsResponse(Message, api_key=91, versions="0", flexible="0+"):
    throttle_time_ms: Int32 = field("0+")
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+", default=None)
    responses: list[AlterShareGroupOffsetsResponseTopic] = field("0+")
