"""ShareGroupHeartbeat, key 76: a member of a share group joins, goes on or leaves (KIP-932).

v0 was never served by a release; v1 is the same on the wire.
"""

from fakebroker.protocol.schema import Int16, Int32, Message, Str, Struct, Uuid, field


class ShareGroupHeartbeatRequest(Message, api_key=76, versions="0-1", flexible="0+"):
    group_id: Str = field("0+", entity="groupId")
    member_id: Str = field("0+", entity="memberId")
    member_epoch: Int32 = field("0+")
    rack_id: Str | None = field("0+", nullable="0+", default=None)
    subscribed_topic_names: list[Str] | None = field("0+", nullable="0+", default=None, entity="topicName")


class TopicPartitions(Struct):
    topic_id: Uuid = field("0+", entity="topicId")
    partitions: list[Int32] = field("0+", entity="partitionIndex")


class Assignment(Struct):
    topic_partitions: list[TopicPartitions] = field("0+")


class ShareGroupHeartbeatResponse(Message, api_key=76, versions="0-1", flexible="0+"):
    throttle_time_ms: Int32 = field("0+")
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+", default=None)
    member_id: Str | None = field("0+", nullable="0+", default=None, entity="memberId")
    member_epoch: Int32 = field("0+")
    heartbeat_interval_ms: Int32 = field("0+")
    assignment: Assignment | None = field("0+", nullable="0+", default=None)
