"""ListGroups, key 16, v0-v5: the groups that this broker coordinates (LS).

v3 flexible; v4 states, and a filter by them (KIP-518); v5 types, and a filter by them (KIP-848).

MOCK: groups are listed by partition, then in the order in which they were made (GEN-9).
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.core.groups.group import Group
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.wire.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse

if TYPE_CHECKING:
    from fakebroker.broker.core.coordinator.shard import Shard

GROUPS_PER_STEP = 5_000


def handle(
    call: Call, request: ListGroupsRequest, is_shown: Callable[[str], bool] = lambda _group_id: True
) -> ListGroupsResponse | None:
    """Every group that passes both filters (LS-3); COORDINATOR_LOAD_IN_PROGRESS while a partition is loading (LS-4).

    `is_shown` says which groups the client may see.
    """
    coordinator = call.node.coordinator
    shards = coordinator.all_shards(call.now)
    code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if coordinator.is_loading else ErrorCode.NONE
    types = {name.lower() for name in request.types_filter}
    hidden = code and not call.cluster.behaviours.list_shows_loaded_while_loading
    if hidden:
        return ListGroupsResponse(error_code=code)
    states = _state_filter(call, request.states_filter)

    def is_wanted(group: Group) -> bool:
        is_meant = (not types or group.kind in types) and (not states or group.state_in_filters in states)
        return is_meant and is_shown(group.group_id)

    steps = _in_steps(ListGroupsResponse(error_code=code), shards, is_wanted, call.pace(GROUPS_PER_STEP))
    return call.work(steps, may_begin_later=True)


def _in_steps(
    response: ListGroupsResponse, shards: "Sequence[Shard]", is_wanted: Callable[[Group], bool], pace: Pace
) -> Steps[ListGroupsResponse]:
    """Shard by shard, each as it is when its turn comes."""
    for shard in shards:
        for group in list(shard.seen_groups()):
            if is_wanted(group):
                response.groups.append(_entry(group))
            if pace.is_over():
                yield
    return response


def _state_filter(call: Call, names: list[str]) -> set[str]:
    """The wanted states in lower case; unknown names match nothing (LS-2)."""
    if call.cluster.behaviours.list_filter_ignores_blanks:
        names = [name.strip() for name in names]
    return {name.lower() for name in names}


def _entry(group: Group) -> ListedGroup:
    return ListedGroup(
        group_id=group.group_id,
        protocol_type=group.protocol_type or "",
        group_state=group.state,
        group_type=group.kind,
    )
