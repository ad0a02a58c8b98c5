"""DescribeQuorum, key 55: voters and observers of the metadata log (KIP-595).

v1 times of the last fetch (KIP-836); v2 messages, directory ids and the voters' listeners (KIP-853).
"""

from fakebroker.protocol.schema import Int16, Int32, Int64, Message, Str, Struct, UInt16, Uuid, field


class PartitionData(Struct):
    partition_index: Int32 = field("0+", entity="partitionIndex")


class TopicData(Struct):
    topic_name: Str = field("0+", entity="topicName")
    partitions: list[PartitionData] = field("0+")


class DescribeQuorumRequest(Message, api_key=55, versions="0-2", flexible="0+"):
    topics: list[TopicData] = field("0+")


class ReplicaState(Struct):
    replica_id: Int32 = field("0+", entity="brokerId")
    replica_directory_id: Uuid = field("2+")
    log_end_offset: Int64 = field("0+")
    last_fetch_timestamp: Int64 = field("1+", default=-1, ignorable=True, entity="timestamp")
    last_caught_up_timestamp: Int64 = field("1+", default=-1, ignorable=True, entity="timestamp")


class QuorumPartitionResult(Struct):
    partition_index: Int32 = field("0+", entity="partitionIndex")
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("2+", nullable="2+", ignorable=True)
    leader_id: Int32 = field("0+", entity="brokerId")
    leader_epoch: Int32 = field("0+", entity="leaderEpoch")
    high_watermark: Int64 = field("0+")
    current_voters: list[ReplicaState] = field("0+")
    observers: list[ReplicaState] = field("0+")


class QuorumTopicResult(Struct):
    topic_name: Str = field("0+", entity="topicName")
    partitions: list[QuorumPartitionResult] = field("0+")


class Listener(Struct):
    name: Str = field("2+", map_key=True)
    host: Str = field("2+", entity="host")
    port: UInt16 = field("2+", entity="port")


class Node(Struct):
    node_id: Int32 = field("2+", map_key=True, entity="brokerId")
    listeners: list[Listener] = field("2+")


class DescribeQuorumResponse(Message, api_key=55, versions="0-2", flexible="0+"):
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("2+", nullable="2+", ignorable=True)
    topics: list[QuorumTopicResult] = field("0+")
    nodes: list[Node] = field("2+")


# Kafka gives the response's structs the names of the request's.
QuorumPartitionResult.kafka_name, QuorumTopicResult.kafka_name = "PartitionData", "TopicData"
