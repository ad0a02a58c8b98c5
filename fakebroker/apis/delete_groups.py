"""DeleteGroups, key 42, v0-v2: remove groups without members, and their offsets (KIP-229, DG).

v2 flexible.
"""

from fakebroker.apis.call import Call
from fakebroker.errors import ErrorCode, KafkaError
from fakebroker.wire.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse


def handle(call: Call, request: DeleteGroupsRequest) -> DeleteGroupsResponse:
    """Delete each group by itself; one named twice is answered once (DG-1)."""
    return DeleteGroupsResponse(
        results=[
            DeletableGroupResult(group_id=group_id, error_code=_delete(call, group_id))
            for group_id in dict.fromkeys(request.groups_names)
        ]
    )


def _delete(call: Call, group_id: str) -> ErrorCode:
    """Delete one group and return its code (DG-2).

    NON_EMPTY_GROUP unless it is Empty; pending member ids do not prevent deletion, a running initial delay does (DG-3).
    """
    try:
        shard = call.shard(group_id)
    except KafkaError as error:
        return error.code
    group = shard.group(group_id)
    if group is None:
        return ErrorCode.GROUP_ID_NOT_FOUND
    if not group.is_empty:
        return ErrorCode.NON_EMPTY_GROUP
    shard.delete_group(group, call.now)
    return ErrorCode.NONE
