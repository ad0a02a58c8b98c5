"""Produce, key 0.

v0, v1: message sets of format 0; v2: format 1; v3: record batches, transactional id.
v1: throttle time. v2: log append time. v5: log start offset. v8: errors per record. v9: flexible. v10: a new leader
and its address in tagged fields. v13: topic ids in place of names. v4, v6, v7, v11, v12: nothing new on the wire.
"""

from fakebroker.protocol.schema import Int16, Int32, Int64, Message, Records, Str, Struct, Uuid, field


class PartitionProduceData(Struct):
    index: Int32 = field("0+", entity="partitionIndex")
    records: Records | None = field("0+", nullable="0+", varies=True)


class TopicProduceData(Struct):
    name: Str = field("0-12", ignorable=True, map_key=True, entity="topicName")
    topic_id: Uuid = field("13+", ignorable=True, map_key=True, entity="topicId")
    partition_data: list[PartitionProduceData] = field("0+")


class ProduceRequest(Message, api_key=0, versions="0-13", flexible="9+"):
    transactional_id: Str | None = field("3+", nullable="3+", default=None, entity="transactionalId")
    acks: Int16 = field("0+")
    timeout_ms: Int32 = field("0+")
    topic_data: list[TopicProduceData] = field("0+")


class BatchIndexAndErrorMessage(Struct):
    batch_index: Int32 = field("8+")
    batch_index_error_message: Str | None = field("8+", nullable="8+", default=None)


class LeaderIdAndEpoch(Struct):
    leader_id: Int32 = field("10+", default=-1, entity="brokerId")
    leader_epoch: Int32 = field("10+", default=-1, entity="leaderEpoch")


class PartitionProduceResponse(Struct):
    index: Int32 = field("0+", entity="partitionIndex")
    error_code: Int16 = field("0+", entity="errorCode")
    base_offset: Int64 = field("0+", varies=True)
    log_append_time_ms: Int64 = field("2+", default=-1, ignorable=True, varies=True, entity="timestamp")
    log_start_offset: Int64 = field("5+", default=-1, ignorable=True, varies=True)
    record_errors: list[BatchIndexAndErrorMessage] = field("8+", ignorable=True)
    error_message: Str | None = field("8+", nullable="8+", default=None, ignorable=True)
    current_leader: LeaderIdAndEpoch = field("10+", tag=0)


class TopicProduceResponse(Struct):
    name: Str = field("0-12", ignorable=True, map_key=True, entity="topicName")
    topic_id: Uuid = field("13+", ignorable=True, map_key=True, entity="topicId")
    partition_responses: list[PartitionProduceResponse] = field("0+")


class NodeEndpoint(Struct):
    node_id: Int32 = field("10+", map_key=True, entity="brokerId")
    host: Str = field("10+", entity="host")
    port: Int32 = field("10+", entity="port")
    rack: Str | None = field("10+", nullable="10+", default=None)


class ProduceResponse(Message, api_key=0, versions="0-13", flexible="9+"):
    responses: list[TopicProduceResponse] = field("0+")
    throttle_time_ms: Int32 = field("1+", ignorable=True)
    node_endpoints: list[NodeEndpoint] = field("10+", tag=0)
