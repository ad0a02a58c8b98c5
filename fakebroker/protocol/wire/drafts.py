"""The messages of dialects: layouts that never shipped under these version numbers (DR-1, DR-3, DR-13)."""

from fakebroker.protocol.schema import Bytes, Int16, Int32, Int64, Message, Row, Str, Struct, field

# -- kip-17: OffsetFetch v2 with the high watermark (DR-1) ---------------------------------------------------------


class Kip17RequestTopic(Struct):
    name: Str = field("2", entity="topicName")
    partition_indexes: list[Int32] = field("2", entity="partitionIndex")


class Kip17OffsetFetchRequest(Message, api_key=9, versions="2"):
    """As the released v1."""

    group_id: Str = field("2", entity="groupId")
    topics: list[Kip17RequestTopic] = field("2")


class Kip17ResponsePartition(Row):
    partition_index: Int32 = field("2", entity="partitionIndex")
    committed_offset: Int64 = field("2", default=-1)
    metadata: Str = field("2", entity="committedMetadata")
    error_code: Int16 = field("2", entity="errorCode")
    high_watermark: Int64 = field("2", default=-1)


class Kip17ResponseTopic(Struct):
    name: Str = field("2", entity="topicName")
    partitions: list[tuple[Int32, Int64, Str, Int16, Int64]] = field("2", row=Kip17ResponsePartition)


class Kip17OffsetFetchResponse(Message, api_key=9, versions="2"):
    """As the released v1, and for each partition the high watermark. No error at the top, no throttle time."""

    topics: list[Kip17ResponseTopic] = field("2")


# -- kip-88-draft: DescribeGroups v1 with committed offsets (DR-3) -------------------------------------------------


class Kip88DescribeGroupsRequest(Message, api_key=15, versions="1"):
    """As the released v0."""

    groups: list[Str] = field("1", entity="groupId")


class Kip88Member(Struct):
    member_id: Str = field("1", entity="memberId")
    client_id: Str = field("1")
    client_host: Str = field("1")
    member_metadata: Bytes = field("1", entity="subscription")
    member_assignment: Bytes = field("1", entity="assignment")


class Kip88Offset(Row):
    topic: Str = field("1", entity="topicName")
    partition: Int32 = field("1", entity="partitionIndex")
    offset: Int64 = field("1")
    metadata: Str = field("1", entity="committedMetadata")


class Kip88Group(Struct):
    error_code: Int16 = field("1", entity="errorCode")
    group_id: Str = field("1", entity="groupId")
    group_state: Str = field("1")
    protocol_type: Str = field("1")
    protocol_data: Str = field("1")
    members: list[Kip88Member] = field("1")
    offsets: list[tuple[Str, Int32, Int64, Str]] = field("1", row=Kip88Offset)


class Kip88DescribeGroupsResponse(Message, api_key=15, versions="1"):
    """As the released v0, and after the members of each group its offsets, one element per partition."""

    groups: list[Kip88Group] = field("1")


# -- kip-211: OffsetCommit v4 without retention_time (DR-13) -------------------------------------------------------


class Kip211RequestPartition(Row):
    partition_index: Int32 = field("4", entity="partitionIndex")
    committed_offset: Int64 = field("4", varies=True)
    committed_metadata: Str | None = field("4", nullable="4", entity="committedMetadata")


class Kip211RequestTopic(Struct):
    name: Str = field("4", entity="topicName")
    partitions: list[tuple[Int32, Int64, Str | None]] = field("4", row=Kip211RequestPartition)


class Kip211OffsetCommitRequest(Message, api_key=8, versions="4"):
    """As the released v3 without retention_time, and so as the released v5. The response is the released v4."""

    group_id: Str = field("4", entity="groupId")
    generation_id: Int32 = field("4", entity="generationId")
    member_id: Str = field("4", entity="memberId")
    topics: list[Kip211RequestTopic] = field("4")
