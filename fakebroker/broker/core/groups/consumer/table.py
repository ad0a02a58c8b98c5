"""What the state of a consumer group follows from: the first of these that holds (CGE-20).

The page docs/reference/consumer-group-states.md is drawn from it.
"""

from fakebroker.broker.core.groups.consumer.states import GroupState
from fakebroker.broker.core.groups.modern.conditions import (
    has_no_members,
    has_what_it_wants,
    waits_for_members,
    wants_another_target,
)

GROUP_STATES = {
    GroupState.EMPTY: has_no_members,
    GroupState.ASSIGNING: wants_another_target,
    GroupState.RECONCILING: waits_for_members,
    GroupState.STABLE: has_what_it_wants,
}
