"""ConsumerGroupHeartbeat, key 68: joining, reconciling and leaving of consumer groups (KIP-848).

v1: a regular expression for topics; the member id is made by the client. Both versions are flexible.
"""

from fakebroker.protocol.schema import Int16, Int32, Message, Str, Struct, Uuid, field


class TopicPartitions(Struct):
    topic_id: Uuid = field("0+", entity="topicId")
    partitions: list[Int32] = field("0+", entity="partitionIndex")


class ConsumerGroupHeartbeatRequest(Message, api_key=68, versions="0-1", flexible="0+"):
    group_id: Str = field("0+", entity="groupId")
    member_id: Str = field("0+", entity="memberId")
    member_epoch: Int32 = field("0+")
    instance_id: Str | None = field("0+", nullable="0+", default=None, entity="groupInstanceId")
    rack_id: Str | None = field("0+", nullable="0+", default=None)
    rebalance_timeout_ms: Int32 = field("0+", default=-1)
    subscribed_topic_names: list[Str] | None = field("0+", nullable="0+", default=None, entity="topicName")
    subscribed_topic_regex: Str | None = field("1+", nullable="1+", default=None)
    server_assignor: Str | None = field("0+", nullable="0+", default=None)
    topic_partitions: list[TopicPartitions] | None = field("0+", nullable="0+", default=None)


class Assignment(Struct):
    topic_partitions: list[TopicPartitions] = field("0+")


class ConsumerGroupHeartbeatResponse(Message, api_key=68, versions="0-1", flexible="0+"):
    throttle_time_ms: Int32 = field("0+")
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+", default=None)
    member_id: Str | None = field("0+", nullable="0+", default=None, entity="memberId")
    member_epoch: Int32 = field("0+")
    heartbeat_interval_ms: Int32 = field("0+")
    assignment: Assignment | None = field("0+", nullable="0+", default=None)
