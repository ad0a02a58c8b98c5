"""Heartbeat, key 12, v0-v4: the member is alive, and learns whether it has to rejoin (KIP-62, HB).

v1 throttle time; v3 static members (KIP-345); v4 flexible (KIP-482).
"""

from typing import Any

from fakebroker.broker.apis.call import Call, Repeat
from fakebroker.broker.apis.replicated import when_replicated
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse

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


def repeat(call: Call, request: HeartbeatRequest, response: HeartbeatResponse) -> Repeat | None:
    """The next heartbeats of a member that was welcome: all that is checked in them is what its group says now."""
    group_id, member_id, instance_id = request.group_id, request.member_id, request.group_instance_id
    generation, coordinator = request.generation_id, call.node.coordinator
    shard = coordinator.loaded_shard(group_id)
    group = None if shard is None else shard.group(group_id)
    if response.error_code or group is None:
        return None
    welcome = response.encode(call.version)

    def answer(call: Call, _values: tuple[Any, ...]) -> bytes | None:
        shard = coordinator.loaded_shard(group_id)
        if shard is None or shard.groups.get(group_id) is not group or not shard.is_replicated:
            return None
        code = group.heartbeat(member_id, instance_id, generation, call.now)
        return HeartbeatResponse(error_code=code).encode(call.version) if code else welcome

    return answer
