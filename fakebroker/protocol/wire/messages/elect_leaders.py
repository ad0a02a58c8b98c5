"""ElectLeaders, key 43.

v1: unclean elections, an error for the whole answer. v2: flexible.
"""

from fakebroker.protocol.schema import Int8, Int16, Int32, Message, Str, Struct, field


class TopicPartitions(Struct):
    topic: Str = field("0+", map_key=True, entity="topicName")
    partitions: list[Int32] = field("0+", entity="partitionIndex")


class ElectLeadersRequest(Message, api_key=43, versions="0-2", flexible="2+"):
    election_type: Int8 = field("1+")
    topic_partitions: list[TopicPartitions] | None = field("0+", nullable="0+")
    timeout_ms: Int32 = field("0+", default=60000)


class PartitionResult(Struct):
    partition_id: Int32 = field("0+", entity="partitionIndex")
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+")


class ReplicaElectionResult(Struct):
    topic: Str = field("0+", entity="topicName")
    partition_result: list[PartitionResult] = field("0+")


class ElectLeadersResponse(Message, api_key=43, versions="0-2", flexible="2+"):
    throttle_time_ms: Int32 = field("0+")
    error_code: Int16 = field("1+", entity="errorCode")
    replica_election_results: list[ReplicaElectionResult] = field("0+")
