"""OffsetFetch, key 9.

v2: null means all topics; an error for the whole group. v3: throttle time. v5: leader epoch. v6: flexible. v7: the
client may insist on stable offsets. v8: many groups at once, in place of the single one. v9: member id and epoch of
the new group protocol. v10: topic ids in place of names. v1, v4: nothing new on the wire.
The partitions of the answer are rows.
"""

from fakebroker.protocol.schema import Bool, Int16, Int32, Int64, Message, Row, Str, Struct, Uuid, field


class OffsetFetchRequestTopic(Struct):
    name: Str = field("0-7")
    partition_indexes: list[Int32] = field("0-7")


class OffsetFetchRequestTopics(Struct):
    name: Str = field("8-9", ignorable=True)
    topic_id: Uuid = field("10+", ignorable=True)
    partition_indexes: list[Int32] = field("8+")


class OffsetFetchRequestGroup(Struct):
    group_id: Str = field("8+")
    member_id: Str | None = field("9+", nullable="9+", default=None, ignorable=True)
    member_epoch: Int32 = field("9+", default=-1, ignorable=True)
    topics: list[OffsetFetchRequestTopics] | None = field("8+", nullable="8+")


class OffsetFetchRequest(Message, api_key=9, versions="0-10", flexible="6+"):
    group_id: Str = field("0-7")
    topics: list[OffsetFetchRequestTopic] | None = field("0-7", nullable="2-7")
    groups: list[OffsetFetchRequestGroup] = field("8+")
    require_stable: Bool = field("7+")


class OffsetFetchResponsePartition(Row):
    partition_index: Int32 = field("0-7")
    committed_offset: Int64 = field("0-7")
    committed_leader_epoch: Int32 = field("5-7", default=-1, ignorable=True)
    metadata: Str | None = field("0-7", nullable="0-7")
    error_code: Int16 = field("0-7")


class OffsetFetchResponseTopic(Struct):
    name: Str = field("0-7")
    partitions: list[tuple[Int32, Int64, Int32, Str | None, Int16]] = field("0-7", row=OffsetFetchResponsePartition)


class OffsetFetchResponsePartitions(Row):
    partition_index: Int32 = field("8+")
    committed_offset: Int64 = field("8+")
    committed_leader_epoch: Int32 = field("8+", default=-1, ignorable=True)
    metadata: Str | None = field("8+", nullable="8+")
    error_code: Int16 = field("8+")


class OffsetFetchResponseTopics(Struct):
    name: Str = field("8-9", ignorable=True)
    topic_id: Uuid = field("10+", ignorable=True)
    partitions: list[tuple[Int32, Int64, Int32, Str | None, Int16]] = field("8+", row=OffsetFetchResponsePartitions)


class OffsetFetchResponseGroup(Struct):
    group_id: Str = field("8+")
    topics: list[OffsetFetchResponseTopics] = field("8+")
    error_code: Int16 = field("8+")


class OffsetFetchResponse(Message, api_key=9, versions="0-10", flexible="6+"):
    throttle_time_ms: Int32 = field("3+", ignorable=True)
    topics: list[OffsetFetchResponseTopic] = field("0-7")
    error_code: Int16 = field("2-7", ignorable=True)
    groups: list[OffsetFetchResponseGroup] = field("8+")
