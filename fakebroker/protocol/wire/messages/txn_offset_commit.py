"""TxnOffsetCommit, key 28: offsets that are committed with a transaction.

v2: leader epoch. v3: flexible; generation, member and static member. v1, v4, v5: nothing new on the wire.
"""

from fakebroker.protocol.schema import Int16, Int32, Int64, Message, Str, Struct, field


class TxnOffsetCommitRequestPartition(Struct):
    partition_index: Int32 = field("0+", entity="partitionIndex")
    committed_offset: Int64 = field("0+")
    committed_leader_epoch: Int32 = field("2+", default=-1, ignorable=True, entity="leaderEpoch")
    committed_metadata: Str | None = field("0+", nullable="0+", entity="committedMetadata")


class TxnOffsetCommitRequestTopic(Struct):
    name: Str = field("0+", entity="topicName")
    partitions: list[TxnOffsetCommitRequestPartition] = field("0+")


class TxnOffsetCommitRequest(Message, api_key=28, versions="0-5", flexible="3+"):
    transactional_id: Str = field("0+", entity="transactionalId")
    group_id: Str = field("0+", entity="groupId")
    producer_id: Int64 = field("0+", entity="producerId")
    producer_epoch: Int16 = field("0+", entity="producerEpoch")
    generation_id: Int32 = field("3+", default=-1, entity="generationId")
    member_id: Str = field("3+", entity="memberId")
    group_instance_id: Str | None = field("3+", nullable="3+", default=None, entity="groupInstanceId")
    topics: list[TxnOffsetCommitRequestTopic] = field("0+")


class TxnOffsetCommitResponsePartition(Struct):
    partition_index: Int32 = field("0+", entity="partitionIndex")
    error_code: Int16 = field("0+", entity="errorCode")


class TxnOffsetCommitResponseTopic(Struct):
    name: Str = field("0+", entity="topicName")
    partitions: list[TxnOffsetCommitResponsePartition] = field("0+")


class TxnOffsetCommitResponse(Message, api_key=28, versions="0-5", flexible="3+"):
    throttle_time_ms: Int32 = field("0+")
    topics: list[TxnOffsetCommitResponseTopic] = field("0+")
