"""ReadShareGroupStateSummary, key 87: the state of share partitions without that of single records.

v1: how many records in flight are done with.
"""

from fakebroker.protocol.schema import Int16, Int32, Int64, Message, Str, Struct, Uuid, field


class PartitionData(Struct):
    partition: Int32 = field("0+", entity="partitionIndex")
    leader_epoch: Int32 = field("0+", entity="leaderEpoch")


class ReadStateSummaryData(Struct):
    topic_id: Uuid = field("0+", entity="topicId")
    partitions: list[PartitionData] = field("0+")


class ReadShareGroupStateSummaryRequest(Message, api_key=87, versions="0-1", flexible="0+"):
    group_id: Str = field("0+", entity="groupId")
    topics: list[ReadStateSummaryData] = field("0+")


class PartitionResult(Struct):
    partition: Int32 = field("0+", entity="partitionIndex")
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+", default=None)
    state_epoch: Int32 = field("0+")
    leader_epoch: Int32 = field("0+", entity="leaderEpoch")
    start_offset: Int64 = field("0+")
    delivery_complete_count: Int32 = field("1+", default=-1, ignorable=True)


class ReadStateSummaryResult(Struct):
    topic_id: Uuid = field("0+", entity="topicId")
    partitions: list[PartitionResult] = field("0+")


class ReadShareGroupStateSummaryResponse(Message, api_key=87, versions="0-1", flexible="0+"):
    results: list[ReadStateSummaryResult] = field("0+")
