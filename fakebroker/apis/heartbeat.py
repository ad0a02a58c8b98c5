"""Heartbeat, key 12, v0-v4: the member is alive, and hears whether it has to rejoin (HB).

v3 static members; v4 flexible.
"""

from fakebroker.apis.call import Call
from fakebroker.errors import ErrorCode, KafkaError
from fakebroker.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse


def handle(call: Call, request: HeartbeatRequest) -> HeartbeatResponse:
    """Restart the member's session timer and tell it how the group is."""
    group_id = request.group_id
    if not group_id:
        return HeartbeatResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    try:
        group = call.node.coordinator.shard(group_id, call.now).groups.get(group_id)
    except KafkaError as error:
        if error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:  # HB-1: let pass unseen
            return HeartbeatResponse(error_code=ErrorCode.NONE)
        return HeartbeatResponse(error_code=error.code)
    if group is None:
        return HeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID)
    code = group.heartbeat(request.member_id, request.group_instance_id, request.generation_id, call.now)
    return HeartbeatResponse(error_code=code)
