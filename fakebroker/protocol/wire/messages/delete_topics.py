"""DeleteTopics, key 20.

v1: throttle time. v4: flexible. v5: error texts. v6: by topic id too: a list of (name, id) in place of the names.
v2, v3: nothing new on the wire.
"""

from fakebroker.protocol.schema import Int16, Int32, Message, Str, Struct, Uuid, field


class DeleteTopicState(Struct):
    name: Str | None = field("6+", nullable="6+", default=None, entity="topicName")
    topic_id: Uuid = field("6+", entity="topicId")


class DeleteTopicsRequest(Message, api_key=20, versions="0-6", flexible="4+"):
    topics: list[DeleteTopicState] = field("6+")
    topic_names: list[Str] = field("0-5", ignorable=True, entity="topicName")
    timeout_ms: Int32 = field("0+")


class DeletableTopicResult(Struct):
    name: Str | None = field("0+", nullable="6+", map_key=True, entity="topicName")
    topic_id: Uuid = field("6+", ignorable=True, entity="topicId")
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("5+", nullable="5+", default=None, ignorable=True)


class DeleteTopicsResponse(Message, api_key=20, versions="0-6", flexible="4+"):
    throttle_time_ms: Int32 = field("1+", ignorable=True)
    responses: list[DeletableTopicResult] = field("0+")
