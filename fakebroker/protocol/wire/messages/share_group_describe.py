"""ShareGroupDescribe, key 77: what the coordinator knows of share groups.

v0 was never served by a release; v1 is the same on the wire.
"""

from fakebroker.protocol.schema import Bool, Int16, Int32, Message, Str, Struct, Uuid, field


class ShareGroupDescribeRequest(Message, api_key=77, versions="0-1", flexible="0+"):
    group_ids: list[Str] = field("0+", entity="groupId")
    include_authorized_operations: Bool = field("0+")


class TopicPartitions(Struct):
    topic_id: Uuid = field("0+", entity="topicId")
    topic_name: Str = field("0+", entity="topicName")
    partitions: list[Int32] = field("0+", entity="partitionIndex")


class Assignment(Struct):
    topic_partitions: list[TopicPartitions] = field("0+")


class Member(Struct):
    member_id: Str = field("0+", entity="memberId")
    rack_id: Str | None = field("0+", nullable="0+", default=None)
    member_epoch: Int32 = field("0+")
    client_id: Str = field("0+")
    client_host: Str = field("0+")
    subscribed_topic_names: list[Str] = field("0+", entity="topicName")
    assignment: Assignment = field("0+")


class DescribedGroup(Struct):
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+", default=None)
    group_id: Str = field("0+", entity="groupId")
    group_state: Str = field("0+")
    group_epoch: Int32 = field("0+")
    assignment_epoch: Int32 = field("0+")
    assignor_name: Str = field("0+")
    members: list[Member] = field("0+")
    authorized_operations: Int32 = field("0+", default=-2147483648)


class ShareGroupDescribeResponse(Message, api_key=77, versions="0-1", flexible="0+"):
    throttle_time_ms: Int32 = field("0+")
    groups: list[DescribedGroup] = field("0+")
