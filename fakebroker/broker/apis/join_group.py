"""JoinGroup, key 11, v0-v9: become a member of a group, or stay one in its next generation (JG).

v1 rebalance timeout (KIP-62; v0: the session timeout is used); v4 a member without an id gets MEMBER_ID_REQUIRED with
an id first (KIP-394); v5 static members (KIP-345); v6 flexible; v7 protocol type in the answer, and a null protocol
name (KIP-559); v8 the reason (KIP-800); v9 SkipAssignment (KIP-814).

The answer usually comes later: the request is parked until the join phase is over (KIP-134: initial delay).
"""

from fakebroker.broker.apis.call import Call
from fakebroker.broker.core.groups.classic.messages import JoinAnswer, JoinRequest
from fakebroker.broker.core.groups.group import Group
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember

_FIRST_REBALANCE_TIMEOUT, _FIRST_ID_HANDSHAKE, _FIRST_NULL_PROTOCOL, _FIRST_SKIP = 1, 4, 7, 9


def handle(call: Call, request: JoinGroupRequest) -> JoinGroupResponse | None:
    """Find or make the group and let the member join it."""
    try:
        group = _group(call, request)
    except KafkaError as error:
        return _response(call.version, JoinAnswer(error.code, _echo(call, request, error.code)))
    group.join(_to_core(call, request), lambda answer: call.reply(_response(call.version, answer)), call.now)
    return None


def _group(call: Call, request: JoinGroupRequest) -> Group:
    """The group, created if a client without member id names an unknown one (JG-1..JG-6, ST-1).

    Raises KafkaError: INVALID_GROUP_ID, INVALID_SESSION_TIMEOUT, UNKNOWN_MEMBER_ID, or as `Call.shard` does. Up to
    3.9.1 the coordinator is checked before the session timeout (JG-4).
    """
    if not request.group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)
    if not call.cluster.behaviours.join_checks_owner_first:
        _check_session_timeout(call, request)
    shard = call.shard(request.group_id)
    _check_session_timeout(call, request)
    group = shard.group(request.group_id)
    if group is None:
        if request.member_id:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        created = shard.create_group(request.group_id, call.now)
        if call.cluster.behaviours.join_stores_new_group:
            created.store(call.now)
        return created
    return group


def _check_session_timeout(call: Call, request: JoinGroupRequest) -> None:
    settings = call.node.settings
    shortest_ms, longest_ms = (settings.get_int(f"group.{bound}.session.timeout.ms") for bound in ("min", "max"))
    if not shortest_ms <= request.session_timeout_ms <= longest_ms:
        raise KafkaError(ErrorCode.INVALID_SESSION_TIMEOUT)


def _echo(call: Call, request: JoinGroupRequest, code: ErrorCode) -> str:
    """The member id in the answer to a request that reached no group; 4.x omits it where it is not coordinator."""
    elsewhere = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR)
    return "" if code in elsewhere and not call.cluster.behaviours.join_checks_owner_first else request.member_id


def _to_core(call: Call, request: JoinGroupRequest) -> JoinRequest:
    version = call.version
    return JoinRequest(
        request.member_id,
        request.group_instance_id,
        call.client_id or "",
        call.client_host,
        request.session_timeout_ms,
        request.rebalance_timeout_ms if version >= _FIRST_REBALANCE_TIMEOUT else request.session_timeout_ms,
        request.protocol_type,
        tuple((protocol.name, protocol.metadata) for protocol in request.protocols),
        needs_member_id=version >= _FIRST_ID_HANDSHAKE,
        may_skip_assignment=version >= _FIRST_SKIP,
        reason=request.reason or "",
    )


def _response(version: int, answer: JoinAnswer) -> JoinGroupResponse:
    """The answer on the wire (JG-28, JG-29); before v7 there is no null protocol name."""
    return JoinGroupResponse(
        error_code=answer.code,
        generation_id=answer.generation,
        protocol_type=answer.protocol_type,
        protocol_name=answer.protocol or (None if version >= _FIRST_NULL_PROTOCOL else ""),
        leader=answer.leader,
        skip_assignment=answer.skip_assignment,
        member_id=answer.member_id,
        members=[
            JoinGroupResponseMember(member_id=member_id, group_instance_id=instance_id, metadata=metadata)
            for member_id, instance_id, metadata in answer.members
        ],
    )


def error_response(_request: JoinGroupRequest, version: int, code: ErrorCode) -> JoinGroupResponse:
    """What a handler that failed is answered with: no member id is echoed (AV-10, JG-29)."""
    return _response(version, JoinAnswer(code, ""))
