"""DeleteGroups, key 42, v0-v2: remove groups without members, and their offsets (KIP-229, DG).

v2 flexible.
"""

from fakebroker.apis.call import Call
from fakebroker.apis.replicated import when_replicated
from fakebroker.errors import ErrorCode, KafkaError
from fakebroker.wire.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse


def handle(call: Call, request: DeleteGroupsRequest) -> DeleteGroupsResponse | None:
    """Delete each group by itself; one named twice is answered once (DG-1).

    The answer waits for the replicas of the partition of the last group that was deleted (CLU-63).
    """
    response = DeleteGroupsResponse(
        results=[
            DeletableGroupResult(group_id=group_id, error_code=_delete(call, group_id))
            for group_id in dict.fromkeys(request.groups_names)
        ]
    )
    deleted = [result for result in response.results if not result.error_code]
    if not deleted:
        return response

    def failed(code: ErrorCode) -> DeleteGroupsResponse:
        for result in deleted:
            result.error_code = code
        return response

    return when_replicated(call, call.shard(deleted[-1].group_id), response, failed)


def _delete(call: Call, group_id: str) -> ErrorCode:
    try:
        shard = call.shard(group_id)
    except KafkaError as error:
        return error.code
    return shard.delete_group(group_id, call.now)
