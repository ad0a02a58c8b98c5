"""OffsetForLeaderEpoch, key 23: where a leader epoch ended.

v1: the epoch in the answer. v2: current leader epoch, throttle time. v3: replica id. v4: flexible.
"""

from fakebroker.protocol.schema import Int16, Int32, Int64, Message, Str, Struct, field


class OffsetForLeaderPartition(Struct):
    partition: Int32 = field("0+", entity="partitionIndex")
    current_leader_epoch: Int32 = field("2+", default=-1, ignorable=True, entity="leaderEpoch")
    leader_epoch: Int32 = field("0+", entity="leaderEpoch")


class OffsetForLeaderTopic(Struct):
    topic: Str = field("0+", map_key=True, entity="topicName")
    partitions: list[OffsetForLeaderPartition] = field("0+")


class OffsetForLeaderEpochRequest(Message, api_key=23, versions="0-4", flexible="4+"):
    replica_id: Int32 = field("3+", default=-2, ignorable=True, entity="brokerId")
    topics: list[OffsetForLeaderTopic] = field("0+")


class EpochEndOffset(Struct):
    error_code: Int16 = field("0+", entity="errorCode")
    partition: Int32 = field("0+", entity="partitionIndex")
    leader_epoch: Int32 = field("1+", default=-1, ignorable=True, entity="leaderEpoch")
    end_offset: Int64 = field("0+", default=-1)


class OffsetForLeaderTopicResult(Struct):
    topic: Str = field("0+", map_key=True, entity="topicName")
    partitions: list[EpochEndOffset] = field("0+")


class OffsetForLeaderEpochResponse(Message, api_key=23, versions="0-4", flexible="4+"):
    throttle_time_ms: Int32 = field("2+", ignorable=True)
    topics: list[OffsetForLeaderTopicResult] = field("0+")
