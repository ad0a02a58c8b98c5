"""InitializeShareGroupState, key 83: the share coordinator begins to keep the state of share partitions."""

from fakebroker.protocol.schema import Int16, Int32, Int64, Message, Str, Struct, Uuid, field


class PartitionData(Struct):
    partition: Int32 = field("0+", entity="partitionIndex")
    state_epoch: Int32 = field("0+")
    start_offset: Int64 = field("0+")


class InitializeStateData(Struct):
    topic_id: Uuid = field("0+", entity="topicId")
    partitions: list[PartitionData] = field("0+")


class InitializeShareGroupStateRequest(Message, api_key=83, versions="0", flexible="0+"):
    group_id: Str = field("0+", entity="groupId")
    topics: list[InitializeStateData] = field("0+")


class PartitionResult(Struct):
    partition: Int32 = field("0+", entity="partitionIndex")
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+", default=None)


class InitializeStateResult(Struct):
    topic_id: Uuid = field("0+", entity="topicId")
    partitions: list[PartitionResult] = field("0+")


class InitializeShareGroupStateResponse(Message, api_key=83, versions="0", flexible="0+"):
    results: list[InitializeStateResult] = field("0+")
