"""JoinGroup, key 11.

v1: rebalance timeout. v2: throttle time. v5: static members. v6: flexible. v7: protocol type, a null protocol name
on errors. v8: the reason. v9: SkipAssignment. v3, v4: nothing new on the wire
(v4: a member without an id gets one first).
"""

from fakebroker.protocol.schema import Bool, Bytes, Int16, Int32, Message, Str, Struct, field


class JoinGroupRequestProtocol(Struct):
    name: Str = field("0+", map_key=True)
    metadata: Bytes = field("0+", entity="subscription")


class JoinGroupRequest(Message, api_key=11, versions="0-9", flexible="6+"):
    group_id: Str = field("0+", entity="groupId")
    session_timeout_ms: Int32 = field("0+")
    rebalance_timeout_ms: Int32 = field("1+", default=-1, ignorable=True)
    member_id: Str = field("0+", entity="memberId")
    group_instance_id: Str | None = field("5+", nullable="5+", default=None, entity="groupInstanceId")
    protocol_type: Str = field("0+")
    protocols: list[JoinGroupRequestProtocol] = field("0+")
    reason: Str | None = field("8+", nullable="8+", default=None, ignorable=True)


class JoinGroupResponseMember(Struct):
    member_id: Str = field("0+", entity="memberId")
    group_instance_id: Str | None = field("5+", nullable="5+", default=None, ignorable=True, entity="groupInstanceId")
    metadata: Bytes = field("0+", entity="subscription")


class JoinGroupResponse(Message, api_key=11, versions="0-9", flexible="6+"):
    throttle_time_ms: Int32 = field("2+", ignorable=True)
    error_code: Int16 = field("0+", entity="errorCode")
    generation_id: Int32 = field("0+", default=-1, entity="generationId")
    protocol_type: Str | None = field("7+", nullable="7+", default=None, ignorable=True)
    protocol_name: Str | None = field("0+", nullable="7+")
    leader: Str = field("0+", entity="memberId")
    skip_assignment: Bool = field("9+")
    member_id: Str = field("0+", entity="memberId")
    members: list[JoinGroupResponseMember] = field("0+")
