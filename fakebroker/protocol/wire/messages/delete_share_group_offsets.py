"""DeleteShareGroupOffsets, key 92: forget topics of a share group."""

from fakebroker.protocol.schema import Int16, Int32, Message, Str, Struct, Uuid, field


class DeleteShareGroupOffsetsRequestTopic(Struct):
    topic_name: Str = field("0+", entity="topicName")


class DeleteShareGroupOffsetsRequest(Message, api_key=92, versions="0", flexible="0+"):
    group_id: Str = field("0+", entity="groupId")
    topics: list[DeleteShareGroupOffsetsRequestTopic] = field("0+")


class DeleteShareGroupOffsetsResponseTopic(Struct):
    topic_name: Str = field("0+", entity="topicName")
    topic_id: Uuid = field("0+", entity="topicId")
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+", default=None)


class DeleteShareGroupOffsetsResponse(Message, api_key=92, versions="0", flexible="0+"):
    throttle_time_ms: Int32 = field("0+")
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+", default=None)
    responses: list[DeleteShareGroupOffsetsResponseTopic] = field("0+")
