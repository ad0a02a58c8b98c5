"""ListOffsets, key 2: the offset for a timestamp, or the first or last one.

v0: a list of segment starts. v1: one offset with its timestamp. v2: isolation level, throttle time. v4: leader
epochs. v6: flexible. v7: maximum timestamp (-3). v8: local log start (-4). v9: last tiered offset (-5). v10: a
timeout. v11: earliest offset not yet uploaded (-6). v3, v5: nothing new on the wire.
The partitions are rows in both directions.
"""

from fakebroker.protocol.schema import Int8, Int16, Int32, Int64, Message, Row, Str, Struct, field


class ListOffsetsPartition(Row):
    partition_index: Int32 = field("0+", entity="partitionIndex")
    current_leader_epoch: Int32 = field("4+", default=-1, ignorable=True, entity="leaderEpoch")
    timestamp: Int64 = field("0+", varies=True, entity="timestamp")
    max_num_offsets: Int32 = field("0", default=1)


class ListOffsetsTopic(Struct):
    name: Str = field("0+", entity="topicName")
    partitions: list[tuple[Int32, Int32, Int64, Int32]] = field("0+", row=ListOffsetsPartition)


class ListOffsetsRequest(Message, api_key=2, versions="0-11", flexible="6+"):
    replica_id: Int32 = field("0+", entity="brokerId")
    isolation_level: Int8 = field("2+")
    topics: list[ListOffsetsTopic] = field("0+")
    timeout_ms: Int32 = field("10+", ignorable=True)


class ListOffsetsPartitionResponse(Row):
    partition_index: Int32 = field("0+", entity="partitionIndex")
    error_code: Int16 = field("0+", entity="errorCode")
    old_style_offsets: list[Int64] = field("0")
    timestamp: Int64 = field("1+", default=-1, varies=True, entity="timestamp")
    offset: Int64 = field("1+", default=-1, varies=True)
    leader_epoch: Int32 = field("4+", default=-1, varies=True, entity="leaderEpoch")


class ListOffsetsTopicResponse(Struct):
    name: Str = field("0+", entity="topicName")
    partitions: list[tuple[Int32, Int16, list[Int64], Int64, Int64, Int32]] = field(
        "0+", row=ListOffsetsPartitionResponse
    )


class ListOffsetsResponse(Message, api_key=2, versions="0-11", flexible="6+"):
    throttle_time_ms: Int32 = field("2+", ignorable=True)
    topics: list[ListOffsetsTopicResponse] = field("0+")
