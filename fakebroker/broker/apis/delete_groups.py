"""DeleteGroups, key 42, v0-v2: remove groups without members, and their offsets (KIP-229, DG).

v2 flexible.
"""

from collections.abc import Generator, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.apis.replicated import when_replicated
from fakebroker.broker.core.groups.kinds import GroupKind
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.wire.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)

if TYPE_CHECKING:
    from fakebroker.broker.core.coordinator.shard import Shard
    from fakebroker.broker.core.groups.share.share_group import ShareGroup

GROUPS_PER_STEP = 5_000
_NO_FAILURES: Mapping[str, ErrorCode] = {}


def handle(call: Call, request: DeleteGroupsRequest) -> DeleteGroupsResponse | None:
    """Delete each group by itself; one named twice is answered once (DG-1).

    Before a share group goes, the share coordinator forgets its states (SGL-3).
    """
    return call.work(_in_steps(call, dict.fromkeys(request.groups_names)), must_finish=True)


def _in_steps(call: Call, group_ids: Iterable[str]) -> Steps[DeleteGroupsResponse]:
    """A frame of 1 MB may name 300,000 groups. Each is deleted in one step."""
    share_groups = yield from _empty_share_groups(call, group_ids)
    if not share_groups:
        return (yield from _delete_all(call, group_ids, _NO_FAILURES))
    _delete_states(call, group_ids, share_groups)
    return None


def _delete_all(call: Call, group_ids: Iterable[str], failures: Mapping[str, ErrorCode]) -> Steps[DeleteGroupsResponse]:
    """Delete the groups, but for those whose states could not be deleted: `failures` has their errors.

    The answer waits for the replicas of the partition of the last group that was deleted (CLU-63).
    """
    response, pace = DeleteGroupsResponse(), call.pace(GROUPS_PER_STEP)
    for group_id in group_ids:
        code = failures.get(group_id) or _delete(call, group_id)
        response.results.append(DeletableGroupResult(group_id=group_id, error_code=code))
        if pace.is_over():
            yield
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


# -- share groups ------------------------------------------------------------------------------------------------------


def _empty_share_groups(
    call: Call, group_ids: Iterable[str]
) -> "Generator[None, None, list[tuple[Shard, ShareGroup]]]":
    """The share groups among them that may be deleted, as far as their coordinator is here."""
    found, pace = [], call.pace(GROUPS_PER_STEP)
    for group_id in group_ids:
        if pace.is_over():
            yield
        try:
            shard = call.shard(group_id)
        except KafkaError:
            continue
        group = shard.group(group_id)
        if group is not None and group.kind is GroupKind.SHARE and group.is_empty:
            found.append((shard, group))
    return found  # type: ignore[return-value]  # imported, ShareGroup would be loaded for everybody


def _delete_states(call: Call, group_ids: Iterable[str], share_groups: "list[tuple[Shard, ShareGroup]]") -> None:
    """Delete the states of the share groups, then all the groups, and reply."""
    from fakebroker.broker.core.groups.share.offsets import delete_all_states

    failures: dict[str, ErrorCode] = {}
    missing = dict.fromkeys(group.group_id for _, group in share_groups)

    def deleted(group_id: str, code: ErrorCode, _now: Instant) -> None:
        del missing[group_id]
        if code:
            failures[group_id] = code
        if not missing:
            call.connection.work(call, _delete_all(call, group_ids, failures), must_finish=True)

    for shard, group in share_groups:
        delete_all_states(shard, group, partial(deleted, group.group_id), call.now)
