"""The tables of states: every state is reached, and has its line on the page."""

import pytest

from fakebroker.broker.core.groups.consumer.reconciliation import LOOKS
from fakebroker.broker.core.groups.consumer.states import NEXT_STATE, GroupState, MemberState, Step
from fakebroker.broker.core.groups.consumer.table import GROUP_STATES
from tests.support.consumer_groups import OneConsumerGroup


@pytest.mark.rules("CGE-20")
def test_every_state_but_dead_follows_from_something() -> None:
    """The first that holds counts, and the last always holds."""
    lab = OneConsumerGroup()
    lab.join("m1")

    assert {*GROUP_STATES, GroupState.DEAD} == set(GroupState)
    assert list(GROUP_STATES.values())[-1](lab.group)


def test_every_member_state_has_its_look_and_every_step_its_state() -> None:
    """A member can be in each, and get to each."""
    assert set(LOOKS) == set(MemberState) == set(NEXT_STATE.values())
    assert set(NEXT_STATE) == set(Step)


@pytest.mark.rules("CGE-20", "CGS-2")
@pytest.mark.parametrize(("epoch", "state"), [(3, "Stable"), (-2, "Reconciling")])
def test_a_member_that_is_away_makes_its_group_reconciling(epoch: int, state: str) -> None:
    """It is not at the assignment epoch."""
    lab = OneConsumerGroup()
    lab.join("m1", instance="i1")
    lab.join("m2")
    lab.send("m1", 2, {"t": [0, 1]}, instance="i1")
    lab.send("m2", 3)

    lab.send("m1", epoch, instance="i1")

    assert lab.group.state == state
