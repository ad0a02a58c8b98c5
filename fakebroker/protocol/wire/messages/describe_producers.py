"""DescribeProducers, key 61: what partitions know of their producers."""

from fakebroker.protocol.schema import Int16, Int32, Int64, Message, Str, Struct, field


class TopicRequest(Struct):
    name: Str = field("0+", entity="topicName")
    partition_indexes: list[Int32] = field("0+", entity="partitionIndex")


class DescribeProducersRequest(Message, api_key=61, versions="0", flexible="0+"):
    topics: list[TopicRequest] = field("0+")


class ProducerState(Struct):
    producer_id: Int64 = field("0+", entity="producerId")
    producer_epoch: Int32 = field("0+", entity="producerEpoch")
    last_sequence: Int32 = field("0+", default=-1)
    last_timestamp: Int64 = field("0+", default=-1, entity="timestamp")
    coordinator_epoch: Int32 = field("0+")
    current_txn_start_offset: Int64 = field("0+", default=-1)


class PartitionResponse(Struct):
    partition_index: Int32 = field("0+", entity="partitionIndex")
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+", default=None)
    active_producers: list[ProducerState] = field("0+")


class TopicResponse(Struct):
    name: Str = field("0+", entity="topicName")
    partitions: list[PartitionResponse] = field("0+")


class DescribeProducersResponse(Message, api_key=61, versions="0", flexible="0+"):
    throttle_time_ms: Int32 = field("0+")
    topics: list[TopicResponse] = field("0+")
