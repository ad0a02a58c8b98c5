"""DeleteShareGroupState, key 86: the share coordinator forgets the state of share partitions."""

from fakebroker.protocol.schema import Int16, Int32, Message, Str, Struct, Uuid, field


class PartitionData(Struct):
    partition: Int32 = field("0+", entity="partitionIndex")


class DeleteStateData(Struct):
    topic_id: Uuid = field("0+", entity="topicId")
    partitions: list[PartitionData] = field("0+")


class DeleteShareGroupStateRequest(Message, api_key=86, versions="0", flexible="0+"):
    group_id: Str = field("0+", entity="groupId")
    topics: list[DeleteStateData] = field("0+")


class PartitionResult(Struct):
    partition: Int32 = field("0+", entity="partitionIndex")
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+", default=None)


class DeleteStateResult(Struct):
    topic_id: Uuid = field("0+", entity="topicId")
    partitions: list[PartitionResult] = field("0+")


class DeleteShareGroupStateResponse(Message, api_key=86, versions="0", flexible="0+"):
    results: list[DeleteStateResult] = field("0+")
