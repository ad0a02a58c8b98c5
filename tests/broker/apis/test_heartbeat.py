"""Heartbeat (HB)."""

from collections.abc import Callable

import pytest

from fakebroker.broker.apis.call import Call
from fakebroker.protocol.errors import ErrorCode
from tests.support.group_apis import GroupApis

MakeCall = Callable[..., Call]


@pytest.mark.rules("HB-1", "HB-2", "HB-6")
@pytest.mark.parametrize("version", range(5))
def test_codes(make_call: MakeCall, version: int) -> None:
    """The empty group id is 24, an unknown group 25, a member of a Stable group gets 0, in every version."""
    lab = GroupApis(make_call)
    (me,) = lab.stable("g")

    asked = [("", "m", 1), ("none", "m", 1), ("g", "m", 1), ("g", me, 2), ("g", me, 1)]
    answers = [
        lab.ask("Heartbeat", version, group_id=group_id, member_id=member_id, generation_id=generation)
        for group_id, member_id, generation in asked
    ]

    assert [answer.error_code for answer in answers] == [
        ErrorCode.INVALID_GROUP_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        0,
    ]
    assert {answer.throttle_time_ms for answer in answers} == {0}


@pytest.mark.rules("HB-1", "LD-6")
def test_while_loading(make_call: MakeCall) -> None:
    """0 for anybody, so that nobody is thrown out by a load."""
    lab = GroupApis(make_call)
    lab.load_slowly("g")

    assert lab.ask("Heartbeat", 4, group_id="g", member_id="anybody", generation_id=7).error_code == 0
    assert lab.ask("Heartbeat", 4, group_id="", member_id="anybody").error_code == ErrorCode.INVALID_GROUP_ID


@pytest.mark.rules("HB-1")
def test_not_the_owner(make_call: MakeCall) -> None:
    """16 from a broker that does not coordinate the group."""
    lab = GroupApis(make_call, node_ids=(1, 2))

    assert lab.ask("Heartbeat", 4, group_id=lab.elsewhere(), member_id="m").error_code == ErrorCode.NOT_COORDINATOR
