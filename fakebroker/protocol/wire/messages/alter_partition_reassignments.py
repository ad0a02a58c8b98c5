"""AlterPartitionReassignments, key 45. Flexible from the start.

v1: the client may forbid that the number of replicas changes.
"""

from fakebroker.protocol.schema import Bool, Int16, Int32, Message, Str, Struct, field


class ReassignablePartition(Struct):
    partition_index: Int32 = field("0+", entity="partitionIndex")
    replicas: list[Int32] | None = field("0+", nullable="0+", default=None, entity="brokerId")


class ReassignableTopic(Struct):
    name: Str = field("0+", entity="topicName")
    partitions: list[ReassignablePartition] = field("0+")


class AlterPartitionReassignmentsRequest(Message, api_key=45, versions="0-1", flexible="0+"):
    timeout_ms: Int32 = field("0+", default=60000)
    allow_replication_factor_change: Bool = field("1+", default=True)
    topics: list[ReassignableTopic] = field("0+")


class ReassignablePartitionResponse(Struct):
    partition_index: Int32 = field("0+", entity="partitionIndex")
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+")


class ReassignableTopicResponse(Struct):
    name: Str = field("0+", entity="topicName")
    partitions: list[ReassignablePartitionResponse] = field("0+")


class AlterPartitionReassignmentsResponse(Message, api_key=45, versions="0-1", flexible="0+"):
    throttle_time_ms: Int32 = field("0+")
    allow_replication_factor_change: Bool = field("1+", default=True, ignorable=True)
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+")
    responses: list[ReassignableTopicResponse] = field("0+")
