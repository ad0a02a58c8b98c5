"""DescribeShareGroupOffsets, key 90: the start offsets of share groups.

v1: the lag.
"""

from fakebroker.protocol.schema import Int16, Int32, Int64, Message, Str, Struct, Uuid, field


class DescribeShareGroupOffsetsRequestTopic(Struct):
    topic_name: Str = field("0+", entity="topicName")
    partitions: list[Int32] = field("0+", entity="partitionIndex")


class DescribeShareGroupOffsetsRequestGroup(Struct):
    group_id: Str = field("0+", entity="groupId")
    topics: list[DescribeShareGroupOffsetsRequestTopic] | None = field("0+", nullable="0+")


class DescribeShareGroupOffsetsRequest(Message, api_key=90, versions="0-1", flexible="0+"):
    groups: list[DescribeShareGroupOffsetsRequestGroup] = field("0+")


class DescribeShareGroupOffsetsResponsePartition(Struct):
    partition_index: Int32 = field("0+", entity="partitionIndex")
    start_offset: Int64 = field("0+")
    leader_epoch: Int32 = field("0+", entity="leaderEpoch")
    lag: Int64 = field("1+", default=-1, ignorable=True)
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+", default=None)


class DescribeShareGroupOffsetsResponseTopic(Struct):
    topic_name: Str = field("0+", entity="topicName")
    topic_id: Uuid = field("0+", entity="topicId")
    partitions: list[DescribeShareGroupOffsetsResponsePartition] = field("0+")


class DescribeShareGroupOffsetsResponseGroup(Struct):
    group_id: Str = field("0+", entity="groupId")
    topics: list[DescribeShareGroupOffsetsResponseTopic] = field("0+")
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+", default=None)


class DescribeShareGroupOffsetsResponse(Message, api_key=90, versions="0-1", flexible="0+"):
    throttle_time_ms: Int32 = field("0+")
    groups: list[DescribeShareGroupOffsetsResponseGroup] = field("0+")
