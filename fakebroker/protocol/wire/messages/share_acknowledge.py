"""ShareAcknowledge, key 79: what became of acquired records.

v1: nothing new on the wire. v2: locks can be renewed, and the answer carries their duration. Flexible from the start.
v0 was in a preview only: no release serves it.
"""

from fakebroker.protocol.schema import Bool, Int8, Int16, Int32, Int64, Message, Str, Struct, Uuid, field


class AcknowledgementBatch(Struct):
    """Types: 0 gap, 1 accept, 2 release, 3 reject, 4 renew; one for all offsets, or one for each."""

    first_offset: Int64 = field("0+")
    last_offset: Int64 = field("0+")
    acknowledge_types: list[Int8] = field("0+")


class AcknowledgePartition(Struct):
    partition_index: Int32 = field("0+", map_key=True, entity="partitionIndex")
    acknowledgement_batches: list[AcknowledgementBatch] = field("0+")


class AcknowledgeTopic(Struct):
    topic_id: Uuid = field("0+", map_key=True, entity="topicId")
    partitions: list[AcknowledgePartition] = field("0+")


class ShareAcknowledgeRequest(Message, api_key=79, versions="0-2", flexible="0+"):
    group_id: Str | None = field("0+", nullable="0+", default=None, entity="groupId")
    member_id: Str | None = field("0+", nullable="0+", entity="memberId")
    share_session_epoch: Int32 = field("0+")
    is_renew_ack: Bool = field("2+", default=False)
    topics: list[AcknowledgeTopic] = field("0+")


class LeaderIdAndEpoch(Struct):
    leader_id: Int32 = field("0+", entity="brokerId")
    leader_epoch: Int32 = field("0+", entity="leaderEpoch")


class PartitionData(Struct):
    partition_index: Int32 = field("0+", entity="partitionIndex")
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+", default=None)
    current_leader: LeaderIdAndEpoch = field("0+")


class ShareAcknowledgeTopicResponse(Struct):
    topic_id: Uuid = field("0+", map_key=True, entity="topicId")
    partitions: list[PartitionData] = field("0+")


class NodeEndpoint(Struct):
    node_id: Int32 = field("0+", map_key=True, entity="brokerId")
    host: Str = field("0+", entity="host")
    port: Int32 = field("0+", entity="port")
    rack: Str | None = field("0+", nullable="0+", default=None)


class ShareAcknowledgeResponse(Message, api_key=79, versions="0-2", flexible="0+"):
    throttle_time_ms: Int32 = field("0+")
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+", default=None)
    acquisition_lock_timeout_ms: Int32 = field("2+", ignorable=True)
    responses: list[ShareAcknowledgeTopicResponse] = field("0+")
    node_endpoints: list[NodeEndpoint] = field("0+")
