"""ReadShareGroupState, key 84: the leader of partitions reads the state of share partitions."""

from fakebroker.protocol.schema import Int8, Int16, Int32, Int64, Message, Str, Struct, Uuid, field


class PartitionData(Struct):
    partition: Int32 = field("0+", entity="partitionIndex")
    leader_epoch: Int32 = field("0+", entity="leaderEpoch")


class ReadStateData(Struct):
    topic_id: Uuid = field("0+", entity="topicId")
    partitions: list[PartitionData] = field("0+")


class ReadShareGroupStateRequest(Message, api_key=84, versions="0", flexible="0+"):
    group_id: Str = field("0+", entity="groupId")
    topics: list[ReadStateData] = field("0+")


class StateBatch(Struct):
    first_offset: Int64 = field("0+")
    last_offset: Int64 = field("0+")
    delivery_state: Int8 = field("0+")
    delivery_count: Int16 = field("0+")


class PartitionResult(Struct):
    partition: Int32 = field("0+", entity="partitionIndex")
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+", default=None)
    state_epoch: Int32 = field("0+")
    start_offset: Int64 = field("0+")
    state_batches: list[StateBatch] = field("0+")


class ReadStateResult(Struct):
    topic_id: Uuid = field("0+", entity="topicId")
    partitions: list[PartitionResult] = field("0+")


class ReadShareGroupStateResponse(Message, api_key=84, versions="0", flexible="0+"):
    results: list[ReadStateResult] = field("0+")
