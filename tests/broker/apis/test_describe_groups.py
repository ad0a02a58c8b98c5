"""DescribeGroups (DS)."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.apis.call import Call
from fakebroker.broker.core.groups.classic.classic_group import ClassicGroup
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.sync_group import SyncGroupRequestAssignment
from tests.support.engine import SimEngine
from tests.support.frames import request
from tests.support.group_apis import GroupApis, join
from tests.support.turns_of_request import turns

MakeCall = Callable[..., Call]
NOT_ASKED = -(2**31)


def describe(lab: GroupApis, *group_ids: str, version: int = 6, **fields: Any) -> list[Any]:
    return list(lab.ask("DescribeGroups", version, groups=list(group_ids), **fields).groups)


@pytest.mark.rules("DS-3", "DS-6")
@pytest.mark.parametrize("version", range(7))
def test_a_stable_group(make_call: MakeCall, version: int) -> None:
    """Protocol, and for each member who it is, its metadata and its assignment, in every version."""
    lab = GroupApis(make_call)
    (me,) = lab.stable("g")
    (group,) = describe(lab, "g", version=version)

    assert (group.error_code, group.group_id, group.group_state) == (0, "g", "Stable")
    assert (group.protocol_type, group.protocol_data) == ("consumer", "range")
    assert [
        (m.member_id, m.client_id, m.client_host, m.member_metadata, m.member_assignment) for m in group.members
    ] == [(me, "test", "/127.0.0.1", b"m", b"")]


@pytest.mark.rules("DS-6")
def test_a_returned_member_is_shown_as_it_first_came(make_call: MakeCall) -> None:
    """Another process that takes a static member's place does not change the client id."""
    lab = GroupApis(make_call)
    for client_id in ("first", "second"):
        lab.send("JoinGroup", 9, client_id=client_id, **join("g", group_instance_id="i"))
        lab.wait(3000)
    (member,) = describe(lab, "g")[0].members

    assert (member.group_instance_id, member.client_id) == ("i", "first")


@pytest.mark.rules("DS-1")
@pytest.mark.parametrize("version", range(7))
def test_an_unknown_group(make_call: MakeCall, version: int) -> None:
    """Dead without an error, in v6 with 69 and a text."""
    (group,) = describe(GroupApis(make_call), "none", version=version)

    assert (group.error_code, group.group_state) == (ErrorCode.GROUP_ID_NOT_FOUND if version == 6 else 0, "Dead")
    assert (group.protocol_type, group.protocol_data, group.members) == ("", "", [])
    assert group.error_message == ("Group none not found." if version == 6 else None)


@pytest.mark.rules("DS-2")
def test_groups_that_cannot_be_seen(make_call: MakeCall) -> None:
    """14 and 16 are per group, with nothing else; the empty group id is one like any other."""
    lab = GroupApis(make_call, node_ids=(1, 2))
    elsewhere = lab.elsewhere()
    here = lab.elsewhere(leader=1)
    lab.load_slowly(here)
    groups = describe(lab, elsewhere, here)

    assert [(group.error_code, group.group_state, group.members) for group in groups] == [
        (ErrorCode.NOT_COORDINATOR, "", []),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "", []),
    ]
    assert describe(GroupApis(make_call), "")[0].group_state == "Dead"


@pytest.mark.rules("DS-4", "DS-7")
@pytest.mark.parametrize(("release", "assignment"), [("4.3", b"old"), ("3.9", b"")])
def test_during_a_rebalance(make_call: MakeCall, release: str, assignment: bytes) -> None:
    """No protocol and no metadata; 4.3.1 still shows the old assignment. Pending ids are not listed."""
    lab = GroupApis(make_call, release)
    (me,) = lab.stable("g")
    group = lab.coordinator.shard("g", lab.now).group("g")
    assert isinstance(group, ClassicGroup)
    group.members[me].assignment = b"old"
    lab.ask("JoinGroup", 4, **join("g"))
    lab.send("JoinGroup", 4, **join("g", me))
    (described,) = describe(lab, "g", version=5)

    assert (described.group_state, described.protocol_data) == ("PreparingRebalance", "")
    assert [(m.member_id, m.member_metadata, m.member_assignment) for m in described.members] == [(me, b"", assignment)]


@pytest.mark.rules("DS-5")
def test_an_emptied_group_keeps_its_type(make_call: MakeCall) -> None:
    """A group that never had members has none."""
    lab = GroupApis(make_call)
    (me,) = lab.stable("g")
    lab.ask("LeaveGroup", 0, group_id="g", member_id=me)
    lab.ask("JoinGroup", 9, **join("only pending"))
    groups = describe(lab, "g", "only pending")

    assert [(group.group_state, group.protocol_type, group.protocol_data) for group in groups] == [
        ("Empty", "consumer", ""),
        ("Empty", "", ""),
    ]


@pytest.mark.rules("DS-8")
@pytest.mark.parametrize(("release", "version", "operations"), [("4.3", 5, 3400), ("4.3", 6, 3400), ("3.9", 5, 328)])
def test_operations(make_call: MakeCall, release: str, version: int, operations: int) -> None:
    """All of them when asked, for an unknown group too unless it is an error; else the default."""
    lab = GroupApis(make_call, release)
    lab.stable("g")
    asked = describe(lab, "g", "none", version=version, include_authorized_operations=True)

    unknown = NOT_ASKED if version == 6 else operations
    assert [group.authorized_operations for group in asked] == [operations, unknown]
    assert describe(lab, "g")[0].authorized_operations == NOT_ASKED


@pytest.mark.rules("DS-9")
@pytest.mark.parametrize(("release", "shown"), [("4.3", ["g", "h", "g"]), ("2.1", ["g", "h"])])
def test_a_group_that_is_asked_for_twice(make_call: MakeCall, release: str, shown: list[str]) -> None:
    """It has an entry for each time; 2.1.1 shows it once."""
    groups = describe(GroupApis(make_call, release), "g", "h", "g", version=2)

    assert [group.group_id for group in groups] == shown


def test_long_assignments_are_written_in_steps() -> None:
    """A group with one of 1 MB that a request named 268 times was one piece of 256 MiB, made and joined: 500 MB."""
    lab = SimEngine()
    client = lab.client()
    member_id = client.join().member_id
    leader = client.join(member_id=member_id)
    assignment = SyncGroupRequestAssignment(member_id=member_id, assignment=bytes(100_000))
    fields = {"generation_id": leader.generation_id, "member_id": member_id, "assignments": [assignment]}
    assert client.ask("SyncGroup", 3, group_id="g", **fields).error_code == 0
    frame = request("DescribeGroups", 5, groups=["g"] * 200)
    assert len([*turns(lab, lab.client().socket.connection, frame)]) > 8
