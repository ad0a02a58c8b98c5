"""Heartbeat, key 12, v0-v4: the member is alive, and learns whether it has to rejoin (KIP-62, HB).

v1 throttle time; v3 static members (KIP-345); v4 flexible (KIP-482).
"""

from fakebroker.apis.call import Call
from fakebroker.apis.replicated import when_replicated
from fakebroker.errors import ErrorCode, KafkaError
from fakebroker.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse

_SERVED = (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS)


def handle(call: Call, request: HeartbeatRequest) -> HeartbeatResponse | None:
    """Restart the member's session timer; REBALANCE_IN_PROGRESS if it has to rejoin."""
    group_id = request.group_id
    if not group_id:
        return HeartbeatResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    try:
        shard = call.node.coordinator.shard(group_id, call.now)
    except KafkaError as error:
        # While groups are being loaded Kafka answers NONE to every client, member or not: sessions start when the load
        # has ended, so no member is late, and an error would make the client look for its coordinator (HB-1).
        if error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            return HeartbeatResponse(error_code=ErrorCode.NONE)
        return HeartbeatResponse(error_code=error.code)
    group = shard.group(group_id)
    if group is None:
        return HeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID)
    code = group.heartbeat(request.member_id, request.group_instance_id, request.generation_id, call.now)
    response = HeartbeatResponse(error_code=code)
    if shard.is_replicated or code not in _SERVED:
        return response
    return when_replicated(call, shard, response, lambda code: HeartbeatResponse(error_code=code))
