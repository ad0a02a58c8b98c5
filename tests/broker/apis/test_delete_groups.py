"""DeleteGroups (DG)."""

from collections.abc import Callable

import pytest

from fakebroker.broker.apis.call import Call
from fakebroker.protocol.errors import ErrorCode
from tests.support.group_apis import GroupApis, join

MakeCall = Callable[..., Call]


def delete(lab: GroupApis, *names: str, version: int = 2) -> list[tuple[str, int]]:
    answer = lab.ask("DeleteGroups", version, groups_names=list(names))
    return [(result.group_id, result.error_code) for result in answer.results]


@pytest.mark.rules("DG-1", "DG-2")
@pytest.mark.parametrize("version", range(3))
def test_each_on_its_own(make_call: MakeCall, version: int) -> None:
    """A live group is 68, an unknown one 69, an Empty one goes; doubles are answered once."""
    lab = GroupApis(make_call)
    (leaver,) = lab.stable("left")
    lab.stable("live")
    lab.ask("LeaveGroup", 0, group_id="left", member_id=leaver)

    assert delete(lab, "left", "live", "none", "left", "", version=version) == [
        ("left", 0),
        ("live", ErrorCode.NON_EMPTY_GROUP),
        ("none", ErrorCode.GROUP_ID_NOT_FOUND),
        ("", ErrorCode.GROUP_ID_NOT_FOUND),
    ]
    assert delete(lab, "left") == [("left", ErrorCode.GROUP_ID_NOT_FOUND)]


@pytest.mark.rules("DG-2")
def test_groups_in_a_rebalance(make_call: MakeCall) -> None:
    """With members it is 68 in every state."""
    lab = GroupApis(make_call)
    lab.stable("g")
    lab.send("JoinGroup", 3, **join("g"))
    assert lab.ask("DescribeGroups", 5, groups=["g"]).groups[0].group_state == "PreparingRebalance"
    assert delete(lab, "g") == [("g", ErrorCode.NON_EMPTY_GROUP)]

    lab.wait(10_000)  # the member that did not rejoin is gone
    assert lab.ask("DescribeGroups", 5, groups=["g"]).groups[0].group_state == "CompletingRebalance"
    assert delete(lab, "g") == [("g", ErrorCode.NON_EMPTY_GROUP)]


@pytest.mark.rules("DG-3")
def test_pending_ids_keep_nothing_alive(make_call: MakeCall) -> None:
    """The group goes, its id is unknown, and a new group begins at generation 0."""
    lab = GroupApis(make_call)
    member_id = lab.ask("JoinGroup", 9, **join("g")).member_id

    assert delete(lab, "g") == [("g", 0)]
    assert lab.ask("JoinGroup", 9, **join("g", member_id)).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert len(lab.cluster.timers.mono) == 0


@pytest.mark.rules("DG-3", "LG-11")
def test_a_running_delay_keeps_it_alive(make_call: MakeCall) -> None:
    """Without members but still in PreparingRebalance it is 68."""
    lab = GroupApis(make_call)
    member_id = lab.ask("JoinGroup", 9, **join("g")).member_id
    lab.send("JoinGroup", 9, **join("g", member_id))
    lab.ask("LeaveGroup", 0, group_id="g", member_id=member_id)
    assert delete(lab, "g") == [("g", ErrorCode.NON_EMPTY_GROUP)]
    lab.wait(3000)

    assert delete(lab, "g") == [("g", 0)]


@pytest.mark.rules("DG-2", "LD-6")
def test_groups_that_cannot_be_reached(make_call: MakeCall) -> None:
    """14 and 16 are per group."""
    lab = GroupApis(make_call, node_ids=(1, 2))
    elsewhere = lab.elsewhere()
    assert delete(lab, elsewhere) == [(elsewhere, ErrorCode.NOT_COORDINATOR)]

    lab = GroupApis(make_call)
    lab.load_slowly("g")
    assert delete(lab, "g") == [("g", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)]
