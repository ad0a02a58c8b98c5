"""Fetch, key 1.

v1: throttle time. v3: a limit for the whole answer. v4: isolation level, aborted transactions, record batches.
v5: log start offset. v7: fetch sessions. v9: current leader epoch. v11: rack, preferred replica. v12: flexible;
last fetched epoch, divergence and the new leader in tagged fields. v13: topic ids in place of names. v15: the
replica's state in a tagged field. v16: addresses of new leaders. v17: directory id. v18: high watermark of the
follower. v2, v6, v8, v10, v14: nothing new on the wire.
The partitions of the request are rows.
"""

from fakebroker.protocol.schema import Int8, Int16, Int32, Int64, Message, Records, Row, Str, Struct, Uuid, field


class ReplicaState(Struct):
    replica_id: Int32 = field("15+", default=-1, entity="brokerId")
    replica_epoch: Int64 = field("15+", default=-1)


class FetchPartition(Row):
    partition: Int32 = field("0+", entity="partitionIndex")
    current_leader_epoch: Int32 = field("9+", default=-1, ignorable=True, entity="leaderEpoch")
    fetch_offset: Int64 = field("0+", varies=True)
    last_fetched_epoch: Int32 = field("12+", default=-1, entity="leaderEpoch")
    log_start_offset: Int64 = field("5+", default=-1, ignorable=True)
    partition_max_bytes: Int32 = field("0+")
    replica_directory_id: Uuid = field("17+", tag=0, ignorable=True)
    high_watermark: Int64 = field("18+", default=2**63 - 1, tag=1, ignorable=True)


class FetchTopic(Struct):
    topic: Str = field("0-12", ignorable=True, entity="topicName")
    topic_id: Uuid = field("13+", ignorable=True, entity="topicId")
    partitions: list[tuple[Int32, Int32, Int64, Int32, Int64, Int32, Uuid, Int64]] = field("0+", row=FetchPartition)


class ForgottenTopic(Struct):
    topic: Str = field("7-12", ignorable=True, entity="topicName")
    topic_id: Uuid = field("13+", ignorable=True, entity="topicId")
    partitions: list[Int32] = field("7+", entity="partitionIndex")


class FetchRequest(Message, api_key=1, versions="0-18", flexible="12+"):
    cluster_id: Str | None = field("12+", nullable="12+", default=None, tag=0, ignorable=True, entity="clusterId")
    replica_id: Int32 = field("0-14", default=-1, entity="brokerId")
    replica_state: ReplicaState = field("15+", tag=1)
    max_wait_ms: Int32 = field("0+")
    min_bytes: Int32 = field("0+")
    max_bytes: Int32 = field("3+", default=2**31 - 1, ignorable=True)
    isolation_level: Int8 = field("4+", ignorable=True)
    session_id: Int32 = field("7+", ignorable=True, entity="sessionId")
    session_epoch: Int32 = field("7+", default=-1, ignorable=True, varies=True)
    topics: list[FetchTopic] = field("0+")
    forgotten_topics_data: list[ForgottenTopic] = field("7+")
    rack_id: Str = field("11+", ignorable=True)


class EpochEndOffset(Struct):
    epoch: Int32 = field("12+", default=-1, entity="leaderEpoch")
    end_offset: Int64 = field("12+", default=-1)


class LeaderIdAndEpoch(Struct):
    leader_id: Int32 = field("12+", default=-1, entity="brokerId")
    leader_epoch: Int32 = field("12+", default=-1, entity="leaderEpoch")


class SnapshotId(Struct):
    end_offset: Int64 = field("0+", default=-1)
    epoch: Int32 = field("0+", default=-1, entity="leaderEpoch")


class AbortedTransaction(Struct):
    producer_id: Int64 = field("4+", entity="producerId")
    first_offset: Int64 = field("4+")


class PartitionData(Struct):
    partition_index: Int32 = field("0+", entity="partitionIndex")
    error_code: Int16 = field("0+", entity="errorCode")
    high_watermark: Int64 = field("0+", varies=True)
    last_stable_offset: Int64 = field("4+", default=-1, ignorable=True, varies=True)
    log_start_offset: Int64 = field("5+", default=-1, ignorable=True, varies=True)
    diverging_epoch: EpochEndOffset = field("12+", tag=0)
    current_leader: LeaderIdAndEpoch = field("12+", tag=1)
    snapshot_id: SnapshotId = field("12+", tag=2)
    aborted_transactions: list[AbortedTransaction] | None = field("4+", nullable="4+", ignorable=True)
    preferred_read_replica: Int32 = field("11+", default=-1, entity="brokerId")
    records: Records | None = field("0+", nullable="0+", varies=True)


class FetchableTopicResponse(Struct):
    topic: Str = field("0-12", ignorable=True, entity="topicName")
    topic_id: Uuid = field("13+", ignorable=True, entity="topicId")
    partitions: list[PartitionData] = field("0+")


class NodeEndpoint(Struct):
    node_id: Int32 = field("16+", map_key=True, entity="brokerId")
    host: Str = field("16+", entity="host")
    port: Int32 = field("16+", entity="port")
    rack: Str | None = field("16+", nullable="16+", default=None)


class FetchResponse(Message, api_key=1, versions="0-18", flexible="12+"):
    throttle_time_ms: Int32 = field("1+", ignorable=True)
    error_code: Int16 = field("7+", ignorable=True, entity="errorCode")
    session_id: Int32 = field("7+", entity="sessionId")
    responses: list[FetchableTopicResponse] = field("0+")
    node_endpoints: list[NodeEndpoint] = field("16+", tag=0)
