"""DeleteRecords, key 21: moves the log start offset of partitions.

v2: flexible. v1: nothing new on the wire.
"""

from fakebroker.protocol.schema import Int16, Int32, Int64, Message, Str, Struct, field


class DeleteRecordsPartition(Struct):
    partition_index: Int32 = field("0+", entity="partitionIndex")
    offset: Int64 = field("0+")


class DeleteRecordsTopic(Struct):
    name: Str = field("0+", entity="topicName")
    partitions: list[DeleteRecordsPartition] = field("0+")


class DeleteRecordsRequest(Message, api_key=21, versions="0-2", flexible="2+"):
    topics: list[DeleteRecordsTopic] = field("0+")
    timeout_ms: Int32 = field("0+")


class DeleteRecordsPartitionResult(Struct):
    partition_index: Int32 = field("0+", map_key=True, entity="partitionIndex")
    low_watermark: Int64 = field("0+")
    error_code: Int16 = field("0+", entity="errorCode")


class DeleteRecordsTopicResult(Struct):
    name: Str = field("0+", map_key=True, entity="topicName")
    partitions: list[DeleteRecordsPartitionResult] = field("0+")


class DeleteRecordsResponse(Message, api_key=21, versions="0-2", flexible="2+"):
    throttle_time_ms: Int32 = field("0+")
    topics: list[DeleteRecordsTopicResult] = field("0+")
