"""LeaveGroup, key 13, v0-v5: members leave, or an administrator removes them (LG).

v3 many members at once, by member id or by instance id (KIP-345); v4 flexible; v5 the reason (KIP-800).
"""

from collections.abc import Generator
from typing import TYPE_CHECKING

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.apis.replicated import when_replicated
from fakebroker.broker.core.groups.classic.messages import Leaver
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberResponse

if TYPE_CHECKING:
    from fakebroker.broker.core.coordinator.shard import Shard

ENTRIES_PER_STEP = 2_000
_FIRST_BATCH = 3


def handle(call: Call, request: LeaveGroupRequest) -> LeaveGroupResponse | None:
    """Remove the members; each entry has a code, before v3 that of the only one is at the top (LG-9)."""
    if not request.group_id:
        return LeaveGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    return call.work(_in_steps(call, request, call.pace(ENTRIES_PER_STEP)))


def _in_steps(call: Call, request: LeaveGroupRequest, pace: Pace) -> Steps[LeaveGroupResponse]:
    """All leave at one moment."""
    leavers = yield from _leavers(call.version, request, pace)
    try:
        shard = call.shard(request.group_id)
    except KafkaError as error:
        return LeaveGroupResponse(error_code=error.code)
    codes = _leave(shard, request.group_id, leavers, call.now)
    response = yield from _response(call.version, leavers, codes, pace)
    if all(codes):
        return response
    return when_replicated(call, shard, response, lambda code: LeaveGroupResponse(error_code=code))


def _response(
    version: int, leavers: list[Leaver], codes: list[ErrorCode], pace: Pace
) -> Generator[None, None, LeaveGroupResponse]:
    if version < _FIRST_BATCH:
        return LeaveGroupResponse(error_code=codes[0])
    response = LeaveGroupResponse()
    for leaver, code in zip(leavers, codes, strict=True):
        response.members.append(
            MemberResponse(member_id=leaver.member_id, group_instance_id=leaver.instance_id, error_code=code)
        )
        if pace.is_over():
            yield
    return response


def _leavers(version: int, request: LeaveGroupRequest, pace: Pace) -> Generator[None, None, list[Leaver]]:
    if version < _FIRST_BATCH:
        return [Leaver(request.member_id)]
    leavers = list[Leaver]()
    for member in request.members:
        leavers.append(Leaver(member.member_id, member.group_instance_id, member.reason or ""))
        if pace.is_over():
            yield
    return leavers


def _leave(shard: "Shard", group_id: str, leavers: list[Leaver], now: Instant) -> list[ErrorCode]:
    """Remove the members and return the code of each entry; UNKNOWN_MEMBER_ID for all if there is no group (LG-2)."""
    group = shard.group(group_id)
    if group is None:
        return [ErrorCode.UNKNOWN_MEMBER_ID] * len(leavers)
    return group.leave(leavers, now)
