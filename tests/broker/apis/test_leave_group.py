"""LeaveGroup (LG)."""

from collections.abc import Callable

import pytest

from fakebroker.broker.apis.call import Call
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.leave_group import MemberIdentity
from tests.support.group_apis import GroupApis

MakeCall = Callable[..., Call]


def leave(version: int, group_id: str, *member_ids: str) -> dict[str, object]:
    if version < 3:
        return {"group_id": group_id, "member_id": member_ids[0]}
    return {"group_id": group_id, "members": [MemberIdentity(member_id=each) for each in member_ids]}


@pytest.mark.rules("LG-1", "LG-2", "LG-9")
@pytest.mark.parametrize("version", range(6))
def test_codes(make_call: MakeCall, version: int) -> None:
    """Before v3 the member's code is the answer's; later the answer is 0 and each entry has its own."""
    lab = GroupApis(make_call)
    (me,) = lab.stable("g")
    answers = [
        lab.ask("LeaveGroup", version, **leave(version, group_id, member_id))
        for group_id, member_id in [("", "m"), ("none", "m"), ("g", "m"), ("g", me), ("g", me)]
    ]

    if version < 3:
        assert [answer.error_code for answer in answers] == [
            ErrorCode.INVALID_GROUP_ID,
            ErrorCode.UNKNOWN_MEMBER_ID,
            ErrorCode.UNKNOWN_MEMBER_ID,
            0,
            ErrorCode.UNKNOWN_MEMBER_ID,
        ]
    else:
        assert [answer.error_code for answer in answers] == [ErrorCode.INVALID_GROUP_ID, 0, 0, 0, 0]
        entries = [[(entry.member_id, entry.error_code) for entry in answer.members] for answer in answers]
        assert entries == [
            [],
            [("m", ErrorCode.UNKNOWN_MEMBER_ID)],
            [("m", ErrorCode.UNKNOWN_MEMBER_ID)],
            [(me, 0)],
            [(me, ErrorCode.UNKNOWN_MEMBER_ID)],
        ]


@pytest.mark.rules("LG-9", "LG-3")
def test_entries_echo_what_was_sent(make_call: MakeCall) -> None:
    """A removal by instance id alone shows an empty member id."""
    lab = GroupApis(make_call)
    members = [MemberIdentity(member_id="", group_instance_id="i"), MemberIdentity(member_id="m", reason="why")]
    lab.stable("g")

    answer = lab.ask("LeaveGroup", 5, group_id="g", members=members)

    assert [(entry.member_id, entry.group_instance_id, entry.error_code) for entry in answer.members] == [
        ("", "i", ErrorCode.UNKNOWN_MEMBER_ID),
        ("m", None, ErrorCode.UNKNOWN_MEMBER_ID),
    ]


@pytest.mark.rules("LG-1", "LD-6")
def test_while_loading(make_call: MakeCall) -> None:
    """14 for the whole request, and no entries."""
    lab = GroupApis(make_call)
    lab.load_slowly("g")
    answer = lab.ask("LeaveGroup", 5, **leave(5, "g", "m"))

    assert (answer.error_code, answer.members) == (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, [])


@pytest.mark.rules("LG-1")
def test_not_the_owner(make_call: MakeCall) -> None:
    """16 for the whole request, and no entries."""
    lab = GroupApis(make_call, node_ids=(1, 2))
    answer = lab.ask("LeaveGroup", 5, **leave(5, lab.elsewhere(), "m"))

    assert (answer.error_code, answer.members) == (ErrorCode.NOT_COORDINATOR, [])


@pytest.mark.rules("LG-8")
def test_nobody_listed(make_call: MakeCall) -> None:
    """An empty list is 0 and changes nothing, for an unknown group too."""
    lab = GroupApis(make_call)
    lab.stable("g")

    for group_id in ("g", "none"):
        answer = lab.ask("LeaveGroup", 5, group_id=group_id)
        assert (answer.error_code, answer.members) == (0, [])
