"""The tables of states: every state is reached, and has its line on the page."""

import pytest

from fakebroker.broker.core.groups.streams.reconciliation import LOOKS
from fakebroker.broker.core.groups.streams.states import NEXT_STATE, GroupState, MemberState, Step, member_state_text
from fakebroker.broker.core.groups.streams.table import GROUP_STATES
from tests.support.streams_groups import OneStreamsGroup


@pytest.mark.rules("STG-1")
def test_every_state_but_dead_follows_from_something() -> None:
    """The first that holds counts, and the last always holds."""
    one = OneStreamsGroup()
    one.join("a")

    assert {*GROUP_STATES, GroupState.DEAD} == set(GroupState)
    assert list(GROUP_STATES.values())[-1](one.group)


def test_every_member_state_has_its_look_and_every_step_its_state() -> None:
    """A member can be in each, and get to each."""
    assert set(LOOKS) == set(MemberState) == set(NEXT_STATE.values())
    assert set(NEXT_STATE) == set(Step)
    assert member_state_text(None) == "Absent"
