"""SyncGroup, key 14, v0-v5: the leader sends the assignments of a generation, each member gets its own (SG).

v3 static members (KIP-345); v4 flexible; v5 protocol type and name in request and answer, not null in the request
(KIP-559).

The request is parked until the leader's assignments are stored.
"""

from fakebroker.broker.apis.call import Call
from fakebroker.broker.core.groups.classic.messages import SyncAnswer, SyncRequest
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

_FIRST_PROTOCOL = 5


def handle(call: Call, request: SyncGroupRequest) -> SyncGroupResponse | None:
    """Let the group answer, now or when the leader's assignment is there."""
    if not has_protocol(request, call.version):
        return SyncGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)  # SG-1
    if not request.group_id:
        return SyncGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    try:
        group = call.shard(request.group_id).group(request.group_id)
    except KafkaError as error:
        return SyncGroupResponse(error_code=_error_code(call, error.code))
    if group is None:
        return SyncGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID)
    group.sync(_to_core(request), lambda answer: call.reply(_response(answer)), call.now)
    return None


def has_protocol(request: SyncGroupRequest, version: int) -> bool:
    """Whether the request names its protocol, if its version has to (SG-1)."""
    return version < _FIRST_PROTOCOL or (request.protocol_type is not None and request.protocol_name is not None)


def _error_code(call: Call, code: ErrorCode) -> ErrorCode:
    """Up to 3.9.1 REBALANCE_IN_PROGRESS instead of COORDINATOR_LOAD_IN_PROGRESS: the member joins again (SG-2)."""
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
