"""DescribeTopicPartitions, key 75: topics with their partitions, page by page. One version, flexible."""

from fakebroker.protocol.schema import Bool, Int16, Int32, Message, Str, Struct, Uuid, field


class TopicRequest(Struct):
    name: Str = field("0+", entity="topicName")


class Cursor(Struct):
    topic_name: Str = field("0+", entity="topicName")
    partition_index: Int32 = field("0+", entity="partitionIndex")


class DescribeTopicPartitionsRequest(Message, api_key=75, versions="0", flexible="0+"):
    topics: list[TopicRequest] = field("0+")
    response_partition_limit: Int32 = field("0+", default=2000)
    cursor: Cursor | None = field("0+", nullable="0+", default=None)


class DescribeTopicPartitionsResponsePartition(Struct):
    error_code: Int16 = field("0+", entity="errorCode")
    partition_index: Int32 = field("0+", entity="partitionIndex")
    leader_id: Int32 = field("0+", entity="brokerId")
    leader_epoch: Int32 = field("0+", default=-1, ignorable=True, entity="leaderEpoch")
    replica_nodes: list[Int32] = field("0+", entity="brokerId")
    isr_nodes: list[Int32] = field("0+", entity="brokerId")
    eligible_leader_replicas: list[Int32] | None = field("0+", nullable="0+", default=None, entity="brokerId")
    last_known_elr: list[Int32] | None = field("0+", nullable="0+", default=None, entity="brokerId")
    offline_replicas: list[Int32] = field("0+", ignorable=True, entity="brokerId")


class DescribeTopicPartitionsResponseTopic(Struct):
    error_code: Int16 = field("0+", entity="errorCode")
    name: Str | None = field("0+", nullable="0+", map_key=True, entity="topicName")
    topic_id: Uuid = field("0+", ignorable=True, entity="topicId")
    is_internal: Bool = field("0+", ignorable=True)
    partitions: list[DescribeTopicPartitionsResponsePartition] = field("0+")
    topic_authorized_operations: Int32 = field("0+", default=-(2**31))


class DescribeTopicPartitionsResponse(Message, api_key=75, versions="0", flexible="0+"):
    throttle_time_ms: Int32 = field("0+", ignorable=True)
    topics: list[DescribeTopicPartitionsResponseTopic] = field("0+")
    next_cursor: Cursor | None = field("0+", nullable="0+", default=None)
