"""LeaveGroup, key 13.

v1: throttle time. v3: many members at once, in place of the single one. v4: flexible. v5: the reason. v2: nothing
new on the wire.
"""

from fakebroker.protocol.schema import Int16, Int32, Message, Str, Struct, field


class MemberIdentity(Struct):
    member_id: Str = field("3+", entity="memberId")
    group_instance_id: Str | None = field("3+", nullable="3+", default=None, entity="groupInstanceId")
    reason: Str | None = field("5+", nullable="5+", default=None, ignorable=True)


class LeaveGroupRequest(Message, api_key=13, versions="0-5", flexible="4+"):
    group_id: Str = field("0+", entity="groupId")
    member_id: Str = field("0-2", entity="memberId")
    members: list[MemberIdentity] = field("3+")


class MemberResponse(Struct):
    member_id: Str = field("3+", entity="memberId")
    group_instance_id: Str | None = field("3+", nullable="3+", entity="groupInstanceId")
    error_code: Int16 = field("3+", entity="errorCode")


class LeaveGroupResponse(Message, api_key=13, versions="0-5", flexible="4+"):
    throttle_time_ms: Int32 = field("1+", ignorable=True)
    error_code: Int16 = field("0+", entity="errorCode")
    members: list[MemberResponse] = field("3+")
