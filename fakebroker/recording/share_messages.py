"""The answers of share groups, as far as a proxy needs them: they may name the addresses of new leaders.

fakebroker does not serve share groups (KIP-932); these declarations are only for recording.
"""

from fakebroker.schema import Int16, Int32, Int64, Message, Records, Str, Struct, Uuid, field


class LeaderIdAndEpoch(Struct):
    leader_id: Int32 = field("0+")
    leader_epoch: Int32 = field("0+")


class AcquiredRecords(Struct):
    first_offset: Int64 = field("0+")
    last_offset: Int64 = field("0+")
    delivery_count: Int16 = field("0+")


class NodeEndpoint(Struct):
    node_id: Int32 = field("0+", map_key=True)
    host: Str = field("0+")
    port: Int32 = field("0+")
    rack: Str | None = field("0+", nullable="0+", default=None)


class FetchedPartition(Struct):
    partition_index: Int32 = field("0+")
    error_code: Int16 = field("0+")
    error_message: Str | None = field("0+", nullable="0+", default=None)
    acknowledge_error_code: Int16 = field("0+")
    acknowledge_error_message: Str | None = field("0+", nullable="0+", default=None)
    current_leader: LeaderIdAndEpoch = field("0+")
    records: Records | None = field("0+", nullable="0+")
    acquired_records: list[AcquiredRecords] = field("0+")


class FetchedTopic(Struct):
    topic_id: Uuid = field("0+", map_key=True)
    partitions: list[FetchedPartition] = field("0+")


class ShareFetchResponse(Message, api_key=78, versions="0-2", flexible="0+"):
    throttle_time_ms: Int32 = field("0+")
    error_code: Int16 = field("0+")
    error_message: Str | None = field("0+", nullable="0+", default=None)
    acquisition_lock_timeout_ms: Int32 = field("1+")
    responses: list[FetchedTopic] = field("0+")
    node_endpoints: list[NodeEndpoint] = field("0+")


class AcknowledgedPartition(Struct):
    partition_index: Int32 = field("0+")
    error_code: Int16 = field("0+")
    error_message: Str | None = field("0+", nullable="0+", default=None)
    current_leader: LeaderIdAndEpoch = field("0+")


class AcknowledgedTopic(Struct):
    topic_id: Uuid = field("0+", map_key=True)
    partitions: list[AcknowledgedPartition] = field("0+")


class ShareAcknowledgeResponse(Message, api_key=79, versions="0-2", flexible="0+"):
    throttle_time_ms: Int32 = field("0+")
    error_code: Int16 = field("0+")
    error_message: Str | None = field("0+", nullable="0+", default=None)
    acquisition_lock_timeout_ms: Int32 = field("2+", ignorable=True)
    responses: list[AcknowledgedTopic] = field("0+")
    node_endpoints: list[NodeEndpoint] = field("0+")
