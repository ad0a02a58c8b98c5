"""Heartbeat, key 12.

v1: throttle time. v3: static members. v4: flexible. v2: nothing new on the wire.
"""

from fakebroker.protocol.schema import Int16, Int32, Message, Str, field


class HeartbeatRequest(Message, api_key=12, versions="0-4", flexible="4+"):
    group_id: Str = field("0+", entity="groupId")
    generation_id: Int32 = field("0+", entity="generationId")
    member_id: Str = field("0+", entity="memberId")
    group_instance_id: Str | None = field("3+", nullable="3+", default=None, entity="groupInstanceId")


class HeartbeatResponse(Message, api_key=12, versions="0-4", flexible="4+"):
    throttle_time_ms: Int32 = field("1+", ignorable=True)
    error_code: Int16 = field("0+", entity="errorCode")
