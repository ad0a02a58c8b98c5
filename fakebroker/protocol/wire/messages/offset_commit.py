"""OffsetCommit, key 8.

v1: generation and member, a timestamp per partition. v2-v4: a retention time for the request. v3: throttle time.
v6: leader epoch. v7: static members. v8: flexible. v9: member epochs of the new group protocol. v10: topic ids in
place of names. v5: nothing new but the retention time's end.
The partitions are rows in both directions.
"""

from fakebroker.protocol.schema import Int16, Int32, Int64, Message, Row, Str, Struct, Uuid, field


class OffsetCommitRequestPartition(Row):
    partition_index: Int32 = field("0+", entity="partitionIndex")
    committed_offset: Int64 = field("0+", varies=True)
    committed_leader_epoch: Int32 = field("6+", default=-1, ignorable=True, entity="leaderEpoch")
    commit_timestamp: Int64 = field("1", default=-1, entity="timestamp")
    committed_metadata: Str | None = field("0+", nullable="0+", entity="committedMetadata")


class OffsetCommitRequestTopic(Struct):
    name: Str = field("0-9", ignorable=True, entity="topicName")
    topic_id: Uuid = field("10+", ignorable=True, entity="topicId")
    partitions: list[tuple[Int32, Int64, Int32, Int64, Str | None]] = field("0+", row=OffsetCommitRequestPartition)


class OffsetCommitRequest(Message, api_key=8, versions="0-10", flexible="8+"):
    group_id: Str = field("0+", entity="groupId")
    generation_id_or_member_epoch: Int32 = field("1+", default=-1, ignorable=True, entity="generationId")
    member_id: Str = field("1+", ignorable=True, entity="memberId")
    group_instance_id: Str | None = field("7+", nullable="7+", default=None, entity="groupInstanceId")
    retention_time_ms: Int64 = field("2-4", default=-1, ignorable=True)
    topics: list[OffsetCommitRequestTopic] = field("0+")


class OffsetCommitResponsePartition(Row):
    partition_index: Int32 = field("0+", entity="partitionIndex")
    error_code: Int16 = field("0+", entity="errorCode")


class OffsetCommitResponseTopic(Struct):
    name: Str = field("0-9", ignorable=True, entity="topicName")
    topic_id: Uuid = field("10+", ignorable=True, entity="topicId")
    partitions: list[tuple[Int32, Int16]] = field("0+", row=OffsetCommitResponsePartition)


class OffsetCommitResponse(Message, api_key=8, versions="0-10", flexible="8+"):
    throttle_time_ms: Int32 = field("3+", ignorable=True)
    topics: list[OffsetCommitResponseTopic] = field("0+")
