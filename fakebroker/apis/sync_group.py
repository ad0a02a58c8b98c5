"""SyncGroup, key 14, v0-v5: hand over (the leader) and fetch (everybody) the assignment of a generation (SG).

v3 static members; v4 flexible; v5 protocol type and name, both ways and not null in the request.

Followers that come before the leader are parked.
"""

from fakebroker.apis.call import Call
from fakebroker.core.groups.messages import SyncAnswer, SyncRequest
from fakebroker.errors import ErrorCode, KafkaError
from fakebroker.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

_FIRST_PROTOCOL = 5


def handle(call: Call, request: SyncGroupRequest) -> SyncGroupResponse | None:
    """Let the group answer, now or when the leader's assignment is there."""
    if call.version >= _FIRST_PROTOCOL and (request.protocol_type is None or request.protocol_name is None):
        return SyncGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)  # SG-1
    if not request.group_id:
        return SyncGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    try:
        group = call.node.coordinator.shard(request.group_id, call.now).group(request.group_id)
    except KafkaError as error:
        return SyncGroupResponse(error_code=_refusal(call, error.code))
    if group is None:
        return SyncGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID)
    group.sync(_to_core(request), lambda answer: call.reply(_response(answer)), call.now)
    return None


def _refusal(call: Call, code: ErrorCode) -> ErrorCode:
    """SG-2: during a load older releases sent the member to join again."""
    if code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and call.cluster.behaviours.sync_while_loading_rebalances:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return code


def _to_core(request: SyncGroupRequest) -> SyncRequest:
    return SyncRequest(
        request.member_id,
        request.group_instance_id,
        request.generation_id,
        request.protocol_type,
        request.protocol_name,
        [(entry.member_id, entry.assignment) for entry in request.assignments],
    )


def _response(answer: SyncAnswer) -> SyncGroupResponse:
    return SyncGroupResponse(
        error_code=answer.code,
        protocol_type=answer.protocol_type,
        protocol_name=answer.protocol,
        assignment=answer.assignment,
    )


def error_response(_request: SyncGroupRequest, _version: int, code: ErrorCode) -> SyncGroupResponse:
    """What a handler that failed is answered with (AV-10, SG-8)."""
    return _response(SyncAnswer(code))
