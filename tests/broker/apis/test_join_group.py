"""JoinGroup (JG): what happens before a group is reached, and what the versions make of the answer."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.apis.call import Call
from fakebroker.broker.apis.handlers import handler
from fakebroker.broker.core.groups.classic.classic_group import ClassicGroup
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.wire.messages.join_group import JoinGroupResponse
from fakebroker.protocol.wire.registry import api
from tests.support.group_apis import GroupApis, join

MakeCall = Callable[..., Call]


@pytest.mark.rules("JG-1", "JG-29")
@pytest.mark.parametrize("version", range(10))
def test_the_empty_group_id(make_call: MakeCall, version: int) -> None:
    """24 with the request's member id, before anything else is looked at, in every version."""
    fields = join("", "somebody", session_timeout_ms=1)
    fields["rebalance_timeout_ms"] = -1 if version == 0 else 1
    answer = GroupApis(make_call).ask("JoinGroup", version, **fields)

    assert (answer.error_code, answer.member_id, answer.generation_id) == (ErrorCode.INVALID_GROUP_ID, "somebody", -1)
    assert (answer.leader, answer.members, answer.protocol_type) == ("", [], None)
    assert answer.protocol_name == ("" if version < 7 else None)


@pytest.mark.rules("JG-5")
@pytest.mark.parametrize(
    ("timeout_ms", "code"),
    [
        (5999, ErrorCode.INVALID_SESSION_TIMEOUT),
        (6000, ErrorCode.MEMBER_ID_REQUIRED),
        (1_800_000, ErrorCode.MEMBER_ID_REQUIRED),
        (1_800_001, ErrorCode.INVALID_SESSION_TIMEOUT),
        (-1, ErrorCode.INVALID_SESSION_TIMEOUT),
    ],
)
def test_the_session_timeout_has_bounds(make_call: MakeCall, timeout_ms: int, code: int) -> None:
    """Both bounds are allowed; a refused join makes no group."""
    lab = GroupApis(make_call)
    answer = lab.ask("JoinGroup", 9, **join("g", session_timeout_ms=timeout_ms))

    assert answer.error_code == code
    assert (lab.coordinator.shard("g", lab.now).group("g") is None) == (code == ErrorCode.INVALID_SESSION_TIMEOUT)


@pytest.mark.rules("JG-5")
@pytest.mark.parametrize("timeout_ms", [-1, 0, 2**31 - 1])
def test_the_rebalance_timeout_has_none(make_call: MakeCall, timeout_ms: int) -> None:
    """Any rebalance timeout is taken."""
    assert GroupApis(make_call).send("JoinGroup", 3, **join("g", rebalance_timeout_ms=timeout_ms)).answer is None


@pytest.mark.rules("JG-6", "ST-1", "ST-15")
def test_who_makes_a_group(make_call: MakeCall) -> None:
    """A newcomer does, even if it is then refused, and the group is there at once; one with an id does not."""
    lab = GroupApis(make_call)
    groups = lab.coordinator.shard("g", lab.now)
    refused = lab.ask("JoinGroup", 9, **join("g", "stranger"))
    assert (refused.error_code, refused.member_id, groups.group("g")) == (ErrorCode.UNKNOWN_MEMBER_ID, "stranger", None)

    assert lab.ask("JoinGroup", 9, **join("g", protocols=[])).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert groups.group("g") is not None
    assert [group.group_id for group in lab.ask("ListGroups", 5).groups] == ["g"]


@pytest.mark.rules("CR-12")
@pytest.mark.parametrize(("release", "records"), [("4.3", 1), ("3.9", 0)])
def test_a_new_group_is_stored(make_call: MakeCall, release: str, records: int) -> None:
    """4.3.1 writes a record for a group that a join made, whatever the answer; 3.9.1 does not."""
    lab = GroupApis(make_call, release)
    assert lab.ask("JoinGroup", 9, **join("g")).error_code == ErrorCode.MEMBER_ID_REQUIRED

    assert lab.coordinator.shard("g", lab.now).partition.log.log_end_offset == records


@pytest.mark.rules("LD-4")
@pytest.mark.parametrize(("release", "there"), [("4.3", [("Empty", None, 0)]), ("3.9", [])])
def test_a_load_of_a_group_that_never_was_stable(
    make_call: MakeCall, release: str, there: list[tuple[str, None, int]]
) -> None:
    """It is Empty without a protocol type, from the record of its creation; 3.9.1 wrote none and knows nothing."""
    lab = GroupApis(make_call, release)
    lab.send("JoinGroup", 3, **join("g"))
    shard = lab.coordinator.load(lab.cluster.group_partition("g").index, lab.now)

    assert [
        (str(group.state), group.protocol_type, group.generation) for group in shard if isinstance(group, ClassicGroup)
    ] == there


@pytest.mark.rules("JG-3", "LD-6")
@pytest.mark.parametrize(("release", "echo"), [("4.3", ""), ("3.9", "somebody")])
def test_while_loading(make_call: MakeCall, release: str, echo: str) -> None:
    """14 while the partition is read."""
    lab = GroupApis(make_call, release)
    lab.load_slowly("g")
    answer = lab.ask("JoinGroup", 9, **join("g", "somebody"))

    assert (answer.error_code, answer.member_id) == (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, echo)


@pytest.mark.rules("JG-4")
@pytest.mark.parametrize(
    ("release", "codes", "echo"),
    [
        ("4.3", [ErrorCode.NOT_COORDINATOR, ErrorCode.INVALID_SESSION_TIMEOUT], ""),
        ("3.9", [ErrorCode.NOT_COORDINATOR] * 2, "somebody"),
    ],
)
def test_not_the_owner(make_call: MakeCall, release: str, codes: list[int], echo: str) -> None:
    """16, in 4.3.1 after the session timeout's check and without the id, in 3.9.1 before it and with the id."""
    lab = GroupApis(make_call, release, node_ids=(1, 2))
    group_id = lab.elsewhere()
    right = lab.ask("JoinGroup", 9, **join(group_id, "somebody"))
    wrong = lab.ask("JoinGroup", 9, **join(group_id, "somebody", session_timeout_ms=1))

    assert [right.error_code, wrong.error_code] == codes
    assert right.member_id == echo


@pytest.mark.rules("JG-15", "JG-16")
@pytest.mark.parametrize("version", range(10))
def test_the_handshake_is_new_in_v4(make_call: MakeCall, version: int) -> None:
    """Up to v3 a newcomer is parked, from v4 on it gets its id."""
    fields = join("g")
    if version == 0:
        fields["rebalance_timeout_ms"] = -1
    answer = GroupApis(make_call).send("JoinGroup", version, **fields).answer

    assert answer is None if version < 4 else answer and answer.error_code == ErrorCode.MEMBER_ID_REQUIRED


def test_v0_has_no_rebalance_timeout(make_call: MakeCall) -> None:
    """The session timeout is used in its place."""
    lab = GroupApis(make_call)
    lab.send("JoinGroup", 0, **join("g", rebalance_timeout_ms=-1))
    group = lab.coordinator.shard("g", lab.now).group("g")

    assert isinstance(group, ClassicGroup)
    assert group.members.rebalance_timeout_ms == 10_000


@pytest.mark.rules("JG-28")
@pytest.mark.parametrize("version", range(10))
def test_success(make_call: MakeCall, version: int) -> None:
    """The leader's answer in every version: type from v7 on, instance ids from v5 on."""
    lab = GroupApis(make_call)
    changes: dict[str, Any] = {"group_instance_id": "i"} if version >= 5 else {}
    if version == 0:
        changes["rebalance_timeout_ms"] = -1
    member_id = lab.ask("JoinGroup", 4, **join("g")).member_id if version == 4 else ""
    sent = lab.send("JoinGroup", version, client_id=None, **join("g", member_id, **changes))
    lab.wait(3000)
    answer = sent.answer

    assert answer is not None
    assert (answer.error_code, answer.generation_id, answer.protocol_name) == (0, 1, "range")
    assert answer.protocol_type == ("consumer" if version >= 7 else None)
    assert answer.leader == answer.member_id
    assert [(member.member_id, member.group_instance_id, member.metadata) for member in answer.members] == [
        (answer.member_id, "i" if version >= 5 else None, b"m")
    ]


@pytest.mark.rules("JG-14")
def test_the_form_of_an_id(make_call: MakeCall) -> None:
    """A client id, a hyphen, a random UUID in lower case; no client id counts as an empty one."""
    lab = GroupApis(make_call)
    form = r"-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    named, unnamed = (lab.send("JoinGroup", 9, client_id=each, **join("g")).member_id for each in ("app", None))

    import re

    assert re.fullmatch("app" + form, named)
    assert re.fullmatch(form, unnamed)


@pytest.mark.rules("AV-10", "JG-29")
@pytest.mark.parametrize("version", [0, 6, 7, 9])
def test_the_error_layout(make_call: MakeCall, version: int) -> None:
    """A handler that fails is answered without a member id, in the layout of any other error."""
    wire = api("JoinGroup")
    request = wire.request(**join("g", "somebody"))
    failed = handler(wire.key).error_response(request, version, ErrorCode.UNKNOWN_SERVER_ERROR)
    answer, _ = JoinGroupResponse.decode(failed.encode(version), version)

    assert (answer.error_code, answer.member_id, answer.generation_id) == (ErrorCode.UNKNOWN_SERVER_ERROR, "", -1)
    assert answer.protocol_name == ("" if version < 7 else None)


@pytest.mark.rules("JG-14")
@pytest.mark.parametrize("version", [3, 4, 5])
def test_a_member_id_that_no_string_can_hold(make_call: MakeCall, version: int) -> None:
    """The member is refused before anything changes: neither the group's record nor an answer could name it."""
    apis = GroupApis(make_call)
    apis.stable("g")
    with pytest.raises(KafkaError, match="32767 bytes are too long to begin a member id"):
        apis.send("JoinGroup", version, client_id="x" * 32_767, **join("g"))
    (described,) = apis.ask("DescribeGroups", 5, groups=["g"]).groups
    assert (described.group_state, len(described.members)) == ("Stable", 1)
