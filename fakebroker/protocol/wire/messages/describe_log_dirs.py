"""DescribeLogDirs, key 35.

v2: flexible. v3: an error for the whole answer. v4: the size of the volume. v5: cordoned directories. v1: nothing
new on the wire.
"""

from fakebroker.protocol.schema import Bool, Int16, Int32, Int64, Message, Str, Struct, field


class DescribableLogDirTopic(Struct):
    topic: Str = field("0+", map_key=True, entity="topicName")
    partitions: list[Int32] = field("0+", entity="partitionIndex")


class DescribeLogDirsRequest(Message, api_key=35, versions="0-5", flexible="2+"):
    topics: list[DescribableLogDirTopic] | None = field("0+", nullable="0+")


class DescribeLogDirsPartition(Struct):
    partition_index: Int32 = field("0+", entity="partitionIndex")
    partition_size: Int64 = field("0+")
    offset_lag: Int64 = field("0+")
    is_future_key: Bool = field("0+")


class DescribeLogDirsTopic(Struct):
    name: Str = field("0+", entity="topicName")
    partitions: list[DescribeLogDirsPartition] = field("0+")


class DescribeLogDirsResult(Struct):
    error_code: Int16 = field("0+", entity="errorCode")
    log_dir: Str = field("0+")
    topics: list[DescribeLogDirsTopic] = field("0+")
    total_bytes: Int64 = field("4+", default=-1, ignorable=True)
    usable_bytes: Int64 = field("4+", default=-1, ignorable=True)
    is_cordoned: Bool = field("5+", ignorable=True)


class DescribeLogDirsResponse(Message, api_key=35, versions="0-5", flexible="2+"):
    throttle_time_ms: Int32 = field("0+")
    error_code: Int16 = field("3+", ignorable=True, entity="errorCode")
    results: list[DescribeLogDirsResult] = field("0+")
