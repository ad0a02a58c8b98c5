"""The scripted client's steps, driven by hand: what they send, and what they make of the answers."""

from collections.abc import Generator
from typing import Any

import pytest

from fakebroker.client.connection import Pending
from fakebroker.client.steps import ClientSteps
from fakebroker.protocol.errors import ErrorCode, FakebrokerError
from fakebroker.protocol.schema import Message
from fakebroker.protocol.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from fakebroker.protocol.wire.messages.heartbeat import HeartbeatResponse
from fakebroker.protocol.wire.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from fakebroker.protocol.wire.messages.leave_group import LeaveGroupResponse
from fakebroker.protocol.wire.messages.sync_group import SyncGroupResponse

EVERYTHING = ApiVersionsResponse(api_keys=[ApiVersion(api_key=key, min_version=0, max_version=99) for key in range(80)])


def finish(flow: Generator[Pending, Message, Any], *answers: Message) -> tuple[Any, list[str]]:
    """Run a step to its end, giving it these answers; its value, and the requests it sent ("JoinGroup v9")."""
    sent = []
    pending = next(flow)
    for answer in answers:
        sent.append(str(pending).partition(" (")[0])
        try:
            pending = flow.send(answer)
        except StopIteration as end:
            return end.value, sent
    raise AssertionError(f"the step goes on with {pending}")


def member(**versions: int) -> ClientSteps:
    """A client that is a member, and leader, of a group."""
    steps = ClientSteps("c", {"JoinGroup": 3, **versions})
    joined = JoinGroupResponse(
        generation_id=4,
        member_id="m",
        leader="m",
        protocol_name="range",
        members=[JoinGroupResponseMember(member_id="m", metadata=b"x")],
    )
    finish(steps.join("g", ["t"]), joined)
    return steps


def test_versions_are_asked_for_once() -> None:
    """The first step asks what the broker serves; then the newest version that both speak is used."""
    steps = member()
    _, first = finish(steps.heartbeat(), EVERYTHING, HeartbeatResponse())
    _, second = finish(steps.heartbeat(), HeartbeatResponse())

    assert (first, second) == (["ApiVersions v0", "Heartbeat v4"], ["Heartbeat v4"])


def test_a_pinned_version_is_used_unasked() -> None:
    """A test that wants an old version gets it, whatever the broker says."""
    _, sent = finish(member(Heartbeat=1).heartbeat(), HeartbeatResponse())

    assert sent == ["Heartbeat v1"]


def test_an_api_that_the_broker_does_not_serve_is_said() -> None:
    """No common version is an error that names the API."""
    with pytest.raises(FakebrokerError, match="no version of Heartbeat"):
        finish(member().heartbeat(), ApiVersionsResponse(), HeartbeatResponse())


@pytest.mark.rules("JG-16")
def test_the_handshake_for_an_id_is_part_of_the_join() -> None:
    """After 79 the join is repeated with the id that came with it."""
    steps = ClientSteps("c", {"JoinGroup": 9})
    refused = JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id="c-1")
    joined = JoinGroupResponse(generation_id=1, member_id="c-1", leader="c-1")
    answer, sent = finish(steps.join("g", ["t"]), refused, joined)

    assert (answer, sent) == (joined, ["JoinGroup v9", "JoinGroup v9"])
    assert steps.membership is not None
    assert (steps.membership.member_id, steps.membership.is_leader) == ("c-1", True)


def test_a_refused_join_leaves_no_membership_behind() -> None:
    """Other errors come back as they are, and the client is no member."""
    steps = ClientSteps("c", {"JoinGroup": 9})
    answer, _ = finish(steps.join("g"), JoinGroupResponse(error_code=ErrorCode.GROUP_MAX_SIZE_REACHED))

    assert answer.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert steps.membership is not None
    assert (steps.membership.member_id, steps.membership.is_leader) == ("", False)


def test_a_refused_sync_changes_no_assignment() -> None:
    """Only a successful answer brings partitions."""
    steps = member(SyncGroup=5)
    finish(steps.sync({"m": {"t": [0]}}), SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))

    assert steps.membership is not None
    assert steps.membership.assignment == {}


@pytest.mark.parametrize("version", [0, 2, 3, 5])
def test_leaving_works_in_every_form_of_the_request(version: int) -> None:
    """Up to v2 one member leaves, from v3 a list does; either way the client is no member afterwards."""
    steps = member(LeaveGroup=version)
    finish(steps.leave(), LeaveGroupResponse())

    assert steps.membership is not None
    assert steps.membership.member_id == ""
