"""CreatePartitions, key 37.

v2: flexible. v1, v3: nothing new on the wire.
"""

from fakebroker.protocol.schema import Bool, Int16, Int32, Message, Str, Struct, field


class CreatePartitionsAssignment(Struct):
    broker_ids: list[Int32] = field("0+", entity="brokerId")


class CreatePartitionsTopic(Struct):
    name: Str = field("0+", map_key=True, entity="topicName")
    count: Int32 = field("0+")
    assignments: list[CreatePartitionsAssignment] | None = field("0+", nullable="0+")


class CreatePartitionsRequest(Message, api_key=37, versions="0-3", flexible="2+"):
    topics: list[CreatePartitionsTopic] = field("0+")
    timeout_ms: Int32 = field("0+")
    validate_only: Bool = field("0+")


class CreatePartitionsTopicResult(Struct):
    name: Str = field("0+", entity="topicName")
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+", default=None)


class CreatePartitionsResponse(Message, api_key=37, versions="0-3", flexible="2+"):
    throttle_time_ms: Int32 = field("0+")
    results: list[CreatePartitionsTopicResult] = field("0+")
