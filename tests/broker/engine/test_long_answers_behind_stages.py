"""A short request with a long answer, behind each stage: it is written in steps, and has a limit."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.apis.describe_groups import MEMBERS_PER_STEP
from fakebroker.broker.core.quotas.client_quotas import REQUEST_PERCENTAGE, make_entity
from fakebroker.broker.engine.dispatch import Route
from fakebroker.broker.engine.faults.spec import FaultSpec
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.schema import runtime
from fakebroker.protocol.wire.messages.describe_groups import DescribedGroup, DescribeGroupsResponse
from tests.support.engine import Client, SimEngine
from tests.support.logins import lab_with_sasl, logged_in
from tests.support.rights import AUTHORIZER, client_of

MANY = 3 * MEMBERS_PER_STEP
SESSION = {"connections.max.reauth.ms": 60_000}


def plain() -> tuple[SimEngine, Client]:
    lab = SimEngine()
    return lab, lab.client()


def with_rights() -> tuple[SimEngine, Client]:
    lab = SimEngine(AUTHORIZER)
    return lab, client_of(lab, "root")


def with_quota() -> tuple[SimEngine, Client]:
    lab, client = plain()
    lab.cluster.client_quotas.alter(make_entity({"client-id": None}), {REQUEST_PERCENTAGE: 1e6})
    return lab, client


def throttled() -> tuple[SimEngine, Client]:
    lab = SimEngine({"fakebroker.request.time.us": 1_000_000})
    lab.cluster.client_quotas.alter(make_entity({"client-id": None}), {REQUEST_PERCENTAGE: 0.1})
    return lab, lab.client()


def delayed() -> tuple[SimEngine, Client]:
    lab, client = plain()
    lab.engine.faults.add(FaultSpec.of({"api": "DescribeGroups", "delay_s": 1}))
    return lab, client


def in_a_session() -> tuple[SimEngine, Client]:
    lab = lab_with_sasl(**SESSION)
    return lab, logged_in(lab)


behind_each_stage = pytest.mark.parametrize(
    "made", [plain, with_rights, with_quota, throttled, delayed, in_a_session], ids=lambda each: each.__name__
)
Made = Callable[[], tuple[SimEngine, Client]]


def size_of_errors() -> int:
    """The size of an answer in which all groups have an error."""
    return len(DescribeGroupsResponse(groups=[DescribedGroup(group_id="g")] * MANY).encode(5))


def described(lab: SimEngine, client: Client) -> Any:
    answer = client.ask("DescribeGroups", 5, groups=["g"] * MANY)
    if answer is None:
        lab.network.advance(1_000)
        answer = client.answer("DescribeGroups", 5)
    return answer


@behind_each_stage
def test_it_is_written_in_steps(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the request was, an answer that took several steps is not written in one."""
    written = []
    in_steps = Route.encode_in_steps
    monkeypatch.setattr(
        Route, "encode_in_steps", lambda route, response: (written.append(str(route)), in_steps(route, response))[1]
    )
    lab, client = made()

    answer = described(lab, client)

    assert len(answer.groups) == MANY
    assert {group.error_code for group in answer.groups} == {ErrorCode.NONE}
    assert written == ["DescribeGroups v5"]
    assert lab.engine.errors == []


@behind_each_stage
def test_one_that_is_too_long_is_an_error_of_the_request(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every group has UNKNOWN_SERVER_ERROR, the broker has no internal error, and the client is served further."""
    lab, client = made()
    monkeypatch.setattr(runtime, "MAX_MESSAGE_BYTES", size_of_errors() + MANY)  # the state of a group has four bytes

    answer = described(lab, client)

    assert {group.error_code for group in answer.groups} == {ErrorCode.UNKNOWN_SERVER_ERROR}
    assert len(answer.groups) == MANY
    assert lab.engine.errors == []
    assert not client.socket.is_closed


@behind_each_stage
def test_one_that_is_too_long_for_a_long_request_closes_the_connection(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even an error for each of millions of groups is made, and the broker has no internal error."""
    lab, client = made()
    monkeypatch.setattr(runtime, "MAX_MESSAGE_BYTES", size_of_errors() + MANY)
    monkeypatch.setattr("fakebroker.broker.engine.failed_request.LONG_FRAME_BYTES", MANY)

    assert described(lab, client) is None

    assert client.socket.is_closed
    assert "DescribeGroups v5: " in client.close_reason
    assert lab.engine.errors == []
