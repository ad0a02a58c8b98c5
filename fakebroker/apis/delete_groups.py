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
    try:
        shard = call.shard(group_id)
    except KafkaError as error:
        return error.code
    return shard.delete_group(group_id, call.now)
