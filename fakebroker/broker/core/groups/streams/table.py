"""What the state of a streams group follows from: the first of these that holds (STG-1).

The page docs/reference/streams-group-states.md is drawn from it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from fakebroker.broker.core.groups.modern.conditions import (
    has_no_members,
    has_what_it_wants,
    waits_for_members,
    wants_another_target,
)
from fakebroker.broker.core.groups.streams.states import GroupState

if TYPE_CHECKING:
    from fakebroker.broker.core.groups.streams.stored_group import StoredGroup


def lacks_topics(group: "StoredGroup") -> bool:
    """The topology was not ready when the group epoch was bumped last: topics are missing, or do not fit."""
    return group.topology is None or group.topology.epoch != group.validated_topology_epoch


GROUP_STATES: "dict[GroupState, Callable[[StoredGroup], bool]]" = {
    GroupState.EMPTY: has_no_members,
    GroupState.NOT_READY: lacks_topics,
    GroupState.ASSIGNING: wants_another_target,
    GroupState.RECONCILING: waits_for_members,
    GroupState.STABLE: has_what_it_wants,
}
