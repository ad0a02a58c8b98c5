"""ListPartitionReassignments, key 46. One version, flexible."""

from fakebroker.protocol.schema import Int16, Int32, Message, Str, Struct, field


class ListPartitionReassignmentsTopics(Struct):
    name: Str = field("0+", entity="topicName")
    partition_indexes: list[Int32] = field("0+", entity="partitionIndex")


class ListPartitionReassignmentsRequest(Message, api_key=46, versions="0", flexible="0+"):
    timeout_ms: Int32 = field("0+", default=60000)
    topics: list[ListPartitionReassignmentsTopics] | None = field("0+", nullable="0+", default=None)


class OngoingPartitionReassignment(Struct):
    partition_index: Int32 = field("0+", entity="partitionIndex")
    replicas: list[Int32] = field("0+", entity="brokerId")
    adding_replicas: list[Int32] = field("0+", entity="brokerId")
    removing_replicas: list[Int32] = field("0+", entity="brokerId")


class OngoingTopicReassignment(Struct):
    name: Str = field("0+", entity="topicName")
    partitions: list[OngoingPartitionReassignment] = field("0+")


class ListPartitionReassignmentsResponse(Message, api_key=46, versions="0", flexible="0+"):
    throttle_time_ms: Int32 = field("0+")
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+")
    topics: list[OngoingTopicReassignment] = field("0+")
