"""ShareFetch, key 78: acquire records for a member of a share group, and acknowledge others.

v1: max_records and batch_size in place of a limit for each partition, the lock's duration in the answer. v2: how
records are acquired, whether locks are renewed. Flexible from the start. v0 was in a preview only: no release serves
it.
"""

from fakebroker.protocol.schema import Bool, Int8, Int16, Int32, Int64, Message, Records, Str, Struct, Uuid, field


class AcknowledgementBatch(Struct):
    """Types: 0 gap, 1 accept, 2 release, 3 reject, 4 renew; one for all offsets, or one for each."""

    first_offset: Int64 = field("0+")
    last_offset: Int64 = field("0+")
    acknowledge_types: list[Int8] = field("0+")


class FetchPartition(Struct):
    partition_index: Int32 = field("0+", map_key=True, entity="partitionIndex")
    partition_max_bytes: Int32 = field("0")
    acknowledgement_batches: list[AcknowledgementBatch] = field("0+")


class FetchTopic(Struct):
    topic_id: Uuid = field("0+", map_key=True, entity="topicId")
    partitions: list[FetchPartition] = field("0+")


class ForgottenTopic(Struct):
    topic_id: Uuid = field("0+", entity="topicId")
    partitions: list[Int32] = field("0+", entity="partitionIndex")


class ShareFetchRequest(Message, api_key=78, versions="0-2", flexible="0+"):
    group_id: Str | None = field("0+", nullable="0+", default=None, entity="groupId")
    member_id: Str | None = field("0+", nullable="0+", entity="memberId")
    share_session_epoch: Int32 = field("0+")
    max_wait_ms: Int32 = field("0+")
    min_bytes: Int32 = field("0+")
    max_bytes: Int32 = field("0+", default=2**31 - 1)
    max_records: Int32 = field("1+")
    batch_size: Int32 = field("1+")
    share_acquire_mode: Int8 = field("2+", default=0, ignorable=True)
    is_renew_ack: Bool = field("2+", default=False)
    topics: list[FetchTopic] = field("0+")
    forgotten_topics_data: list[ForgottenTopic] = field("0+")


class LeaderIdAndEpoch(Struct):
    leader_id: Int32 = field("0+", entity="brokerId")
    leader_epoch: Int32 = field("0+", entity="leaderEpoch")


class AcquiredRecords(Struct):
    first_offset: Int64 = field("0+")
    last_offset: Int64 = field("0+")
    delivery_count: Int16 = field("0+")


class PartitionData(Struct):
    partition_index: Int32 = field("0+", entity="partitionIndex")
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+", default=None)
    acknowledge_error_code: Int16 = field("0+")
    acknowledge_error_message: Str | None = field("0+", nullable="0+", default=None)
    current_leader: LeaderIdAndEpoch = field("0+")
    records: Records | None = field("0+", nullable="0")
    acquired_records: list[AcquiredRecords] = field("0+")


class ShareFetchableTopicResponse(Struct):
    topic_id: Uuid = field("0+", map_key=True, entity="topicId")
    partitions: list[PartitionData] = field("0+")


class NodeEndpoint(Struct):
    node_id: Int32 = field("0+", map_key=True, entity="brokerId")
    host: Str = field("0+", entity="host")
    port: Int32 = field("0+", entity="port")
    rack: Str | None = field("0+", nullable="0+", default=None)


class ShareFetchResponse(Message, api_key=78, versions="0-2", flexible="0+"):
    throttle_time_ms: Int32 = field("0+")
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+", default=None)
    acquisition_lock_timeout_ms: Int32 = field("1+")
    responses: list[ShareFetchableTopicResponse] = field("0+")
    node_endpoints: list[NodeEndpoint] = field("0+")
