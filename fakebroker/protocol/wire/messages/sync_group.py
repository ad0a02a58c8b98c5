"""SyncGroup, key 14.

v1: throttle time. v3: static members. v4: flexible. v5: protocol type and name, both ways. v2: nothing new on the
wire.
"""

from fakebroker.protocol.schema import Bytes, Int16, Int32, Message, Str, Struct, field


class SyncGroupRequestAssignment(Struct):
    member_id: Str = field("0+", entity="memberId")
    assignment: Bytes = field("0+", entity="assignment")


class SyncGroupRequest(Message, api_key=14, versions="0-5", flexible="4+"):
    group_id: Str = field("0+", entity="groupId")
    generation_id: Int32 = field("0+", entity="generationId")
    member_id: Str = field("0+", entity="memberId")
    group_instance_id: Str | None = field("3+", nullable="3+", default=None, entity="groupInstanceId")
    protocol_type: Str | None = field("5+", nullable="5+", default=None, ignorable=True)
    protocol_name: Str | None = field("5+", nullable="5+", default=None, ignorable=True)
    assignments: list[SyncGroupRequestAssignment] = field("0+")


class SyncGroupResponse(Message, api_key=14, versions="0-5", flexible="4+"):
    throttle_time_ms: Int32 = field("1+", ignorable=True)
    error_code: Int16 = field("0+", entity="errorCode")
    protocol_type: Str | None = field("5+", nullable="5+", default=None, ignorable=True)
    protocol_name: Str | None = field("5+", nullable="5+", default=None, ignorable=True)
    assignment: Bytes = field("0+", entity="assignment")
