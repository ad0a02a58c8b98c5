"""SyncGroup (SG)."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.apis.call import Call
from fakebroker.broker.apis.handlers import handler
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.sync_group import SyncGroupRequestAssignment, SyncGroupResponse
from fakebroker.protocol.wire.registry import api
from tests.support.group_apis import GroupApis, join

MakeCall = Callable[..., Call]


def sync(group_id: str, member_id: str = "m", **changes: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {"group_id": group_id, "generation_id": 1, "member_id": member_id}
    return fields | {"protocol_type": "consumer", "protocol_name": "range"} | changes


@pytest.mark.rules("SG-1", "SG-8")
@pytest.mark.parametrize("missing", ["protocol_type", "protocol_name"])
def test_v5_needs_type_and_name(make_call: MakeCall, missing: str) -> None:
    """Null is 23, before even the group id is looked at; v4 knows neither."""
    answer = GroupApis(make_call).ask("SyncGroup", 5, **sync("") | {missing: None})

    assert (answer.error_code, answer.protocol_type, answer.protocol_name) == (
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
        None,
        None,
    )
    assert answer.assignment == b""
    assert (
        GroupApis(make_call).ask("SyncGroup", 4, group_id="g", member_id="m").error_code == ErrorCode.UNKNOWN_MEMBER_ID
    )


@pytest.mark.rules("SG-2", "SG-3")
@pytest.mark.parametrize("version", range(6))
def test_before_a_group_is_reached(make_call: MakeCall, version: int) -> None:
    """The empty group id is 24, an unknown group 25, in every version."""
    lab = GroupApis(make_call)

    assert lab.ask("SyncGroup", version, **sync("")).error_code == ErrorCode.INVALID_GROUP_ID
    assert lab.ask("SyncGroup", version, **sync("g")).error_code == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.rules("SG-2", "LD-6")
@pytest.mark.parametrize(
    ("release", "code"), [("4.3", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS), ("3.9", ErrorCode.REBALANCE_IN_PROGRESS)]
)
def test_while_loading(make_call: MakeCall, release: str, code: int) -> None:
    """4.3.1 says 14, 3.9.1 sent the members to join again."""
    lab = GroupApis(make_call, release)
    lab.load_slowly("g")

    assert lab.ask("SyncGroup", 5, **sync("g")).error_code == code


@pytest.mark.rules("SG-2")
def test_not_the_owner(make_call: MakeCall) -> None:
    """16 from a broker that does not coordinate the group."""
    lab = GroupApis(make_call, node_ids=(1, 2))

    assert lab.ask("SyncGroup", 5, **sync(lab.elsewhere())).error_code == ErrorCode.NOT_COORDINATOR


@pytest.mark.rules("SG-6", "SG-8")
@pytest.mark.parametrize("version", range(6))
def test_success(make_call: MakeCall, version: int) -> None:
    """The assignment in every version; type and name from v5 on."""
    lab = GroupApis(make_call)
    joined = lab.send("JoinGroup", 3, **join("g"))
    lab.wait(3000)
    me = joined.member_id
    entries = [SyncGroupRequestAssignment(member_id=me, assignment=b"mine")]

    answer = lab.ask("SyncGroup", version, **sync("g", me, assignments=entries))

    named = ("consumer", "range") if version >= 5 else (None, None)
    assert (answer.error_code, answer.assignment) == (0, b"mine")
    assert (answer.protocol_type, answer.protocol_name) == named


@pytest.mark.rules("SG-10")
def test_a_follower_waits(make_call: MakeCall) -> None:
    """A follower's request is parked until the leader's assignment is there."""
    lab = GroupApis(make_call)
    joins = [lab.send("JoinGroup", 3, **join("g")) for _ in range(2)]
    lab.wait(6000)
    a, b = (sent.member_id for sent in joins)
    parked = lab.send("SyncGroup", 5, **sync("g", b))
    assert parked.answer is None

    lab.ask("SyncGroup", 5, **sync("g", a, assignments=[SyncGroupRequestAssignment(member_id=b, assignment=b"x")]))

    assert parked.assignment == b"x"


@pytest.mark.rules("AV-10", "SG-8")
def test_the_error_layout(make_call: MakeCall) -> None:
    """A handler that fails is answered with nulls, not with what the request named."""
    wire = api("SyncGroup")
    failed = handler(wire.key).error_response(wire.request(**sync("g")), 5, ErrorCode.UNKNOWN_SERVER_ERROR)
    answer, _ = SyncGroupResponse.decode(failed.encode(5), 5)

    assert (answer.error_code, answer.protocol_type, answer.protocol_name, answer.assignment) == (
        ErrorCode.UNKNOWN_SERVER_ERROR,
        None,
        None,
        b"",
    )
