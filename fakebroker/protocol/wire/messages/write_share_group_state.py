"""WriteShareGroupState, key 85: the leader of partitions writes the state of share partitions.

v1: how many records in flight are done with.
"""

from fakebroker.protocol.schema import Int8, Int16, Int32, Int64, Message, Str, Struct, Uuid, field


class StateBatch(Struct):
    first_offset: Int64 = field("0+")
    last_offset: Int64 = field("0+")
    delivery_state: Int8 = field("0+")
    delivery_count: Int16 = field("0+")


class PartitionData(Struct):
    partition: Int32 = field("0+", entity="partitionIndex")
    state_epoch: Int32 = field("0+")
    leader_epoch: Int32 = field("0+", entity="leaderEpoch")
    start_offset: Int64 = field("0+")
    delivery_complete_count: Int32 = field("1+", default=-1, ignorable=True)
    state_batches: list[StateBatch] = field("0+")


class WriteStateData(Struct):
    topic_id: Uuid = field("0+", entity="topicId")
    partitions: list[PartitionData] = field("0+")


class WriteShareGroupStateRequest(Message, api_key=85, versions="0-1", flexible="0+"):
    group_id: Str = field("0+", entity="groupId")
    topics: list[WriteStateData] = field("0+")


class PartitionResult(Struct):
    partition: Int32 = field("0+", entity="partitionIndex")
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+", default=None)


class WriteStateResult(Struct):
    topic_id: Uuid = field("0+", entity="topicId")
    partitions: list[PartitionResult] = field("0+")


class WriteShareGroupStateResponse(Message, api_key=85, versions="0-1", flexible="0+"):
    results: list[WriteStateResult] = field("0+")
