"""LeaveGroup, key 13, v0-v5: members leave, or an administrator removes them (LG).

v3 many members at once, by member id or by instance id (KIP-345); v4 flexible; v5 the reason (KIP-800).
"""

from fakebroker.apis.call import Call
from fakebroker.core.groups.messages import Leaver
from fakebroker.errors import ErrorCode, KafkaError
from fakebroker.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberResponse

_FIRST_BATCH = 3


def handle(call: Call, request: LeaveGroupRequest) -> LeaveGroupResponse:
    """Remove the members; each entry has a code, before v3 that of the only one is at the top (LG-9)."""
    leavers = _leavers(call.version, request)
    try:
        codes = _leave(call, request.group_id, leavers)
    except KafkaError as error:
        return LeaveGroupResponse(error_code=error.code)
    if call.version < _FIRST_BATCH:
        return LeaveGroupResponse(error_code=codes[0])
    return LeaveGroupResponse(
        members=[
            MemberResponse(member_id=leaver.member_id, group_instance_id=leaver.instance_id, error_code=code)
            for leaver, code in zip(leavers, codes, strict=True)
        ]
    )


def _leavers(version: int, request: LeaveGroupRequest) -> list[Leaver]:
    if version < _FIRST_BATCH:
        return [Leaver(request.member_id)]
    return [Leaver(member.member_id, member.group_instance_id, member.reason or "") for member in request.members]


def _leave(call: Call, group_id: str, leavers: list[Leaver]) -> list[ErrorCode]:
    """Remove the members and return the code of each entry; UNKNOWN_MEMBER_ID for all if there is no group (LG-2).

    Raises KafkaError with an error of the whole request (LG-1).
    """
    if not group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)
    group = call.shard(group_id).group(group_id)
    if group is None:
        return [ErrorCode.UNKNOWN_MEMBER_ID] * len(leavers)
    return group.leave(leavers, call.now)
