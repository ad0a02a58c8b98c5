"""A request on its way through stages to its handler, and its answer on the way back."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.engine.dispatch import Route
from fakebroker.broker.engine.exchange import Exchange
from fakebroker.broker.engine.stages import Handle, NextTurn, Passage, Pause, StageKind
from fakebroker.protocol.errors import CloseConnection, ErrorCode, KafkaError
from fakebroker.protocol.schema import Message
from tests.support.engine import Client, SimEngine
from tests.support.frames import JOIN, request

HEARTBEAT: dict[str, Any] = {"group_id": "g", "generation_id": 1, "member_id": "m"}
Serve = Callable[[Exchange, Message], Passage]


class FakeStage:
    """A stage made of a function; `seen` has what happened to it."""

    def __init__(self, kind: StageKind, seen: list[str], serve: Serve | None = None) -> None:
        self.kind = kind
        self._seen = seen
        self._serve = serve or self._pass_on

    def concerns(self, route: Route) -> bool:
        return route.name in ("Heartbeat", "JoinGroup")

    def serve(self, exchange: Exchange, message: Message) -> Passage:
        return self._serve(exchange, message)

    def _pass_on(self, _exchange: Exchange, message: Message) -> Passage:
        self._seen.append(f"in {self.kind.name}")
        try:
            response = yield Handle(message)
        except KafkaError as error:
            self._seen.append(f"{self.kind.name} saw {error.code.name}")
            raise
        self._seen.append(f"out {self.kind.name}")
        return response


@pytest.fixture
def lab() -> SimEngine:
    return SimEngine()


@pytest.fixture
def seen() -> list[str]:
    return []


def put(lab: SimEngine, *stages: FakeStage) -> None:
    for stage in stages:
        lab.engine.put_stage(stage.kind, stage)


def heartbeat(client: Client) -> Any:
    return client.ask("Heartbeat", 3, **HEARTBEAT)


def test_stages_come_in_their_order_and_go_back_in_the_other(lab: SimEngine, seen: list[str]) -> None:
    """Faults are nearest to the client, rights nearest to the handler, whichever was put there first."""
    put(lab, *(FakeStage(kind, seen) for kind in (StageKind.AUTHORIZATION, StageKind.FAULTS, StageKind.QUOTAS)))
    assert heartbeat(lab.client()).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    names = ["FAULTS", "QUOTAS", "AUTHORIZATION"]
    assert seen == [f"in {name}" for name in names] + [f"out {name}" for name in reversed(names)]


def test_a_route_that_no_stage_concerns_has_its_own_handler(lab: SimEngine, seen: list[str]) -> None:
    """Requests that no stage is for pay nothing; nor does any request when the stage is gone."""
    (dispatcher,) = lab.engine.dispatchers
    heartbeats, metadata = 12 << 16 | 3, 3 << 16 | 9
    plain = dispatcher.find(heartbeats)
    put(lab, FakeStage(StageKind.QUOTAS, seen))
    assert dispatcher.find(metadata).handle is dispatcher._plain[metadata].handle
    assert dispatcher.find(heartbeats) is not plain
    lab.engine.put_stage(StageKind.QUOTAS, None)
    assert dispatcher.find(heartbeats) is plain


def test_what_a_stage_raises_goes_out_through_those_around_it(lab: SimEngine, seen: list[str]) -> None:
    """A KafkaError is answered with its code, and the handler has not had the request."""

    def refuse(_exchange: Exchange, _message: Message) -> Passage:
        raise KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED)
        yield

    put(lab, FakeStage(StageKind.QUOTAS, seen), FakeStage(StageKind.AUTHORIZATION, seen, refuse))
    assert heartbeat(lab.client()).error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert seen == ["in QUOTAS", "QUOTAS saw GROUP_AUTHORIZATION_FAILED"]


@pytest.mark.parametrize("is_late", [False, True])
def test_a_closing_stage_closes_the_connection(lab: SimEngine, seen: list[str], is_late: bool) -> None:
    """CloseConnection closes with its reason, at once or after a pause."""

    def close(_exchange: Exchange, _message: Message) -> Passage:
        if is_late:
            yield Pause(1000)
        raise CloseConnection("enough")

    put(lab, FakeStage(StageKind.FAULTS, seen, close))
    client = lab.client()
    heartbeat(client)
    lab.network.advance(2000)
    assert client.close_reason == "Heartbeat v3: enough"


@pytest.mark.parametrize("is_late", [False, True])
def test_a_bug_in_a_stage_is_an_unknown_server_error(lab: SimEngine, seen: list[str], is_late: bool) -> None:
    """The client gets an answer, the test the exception."""

    def fail(_exchange: Exchange, message: Message) -> Passage:
        if is_late:
            yield Pause(1000)
        yield Handle(message)
        raise ZeroDivisionError

    put(lab, FakeStage(StageKind.FAULTS, seen, fail))
    client = lab.client()
    client.socket.send(request("Heartbeat", 3, **HEARTBEAT))
    lab.network.advance(2000)
    assert client.answer("Heartbeat", 3).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert [type(error) for error in lab.engine.errors] == [ZeroDivisionError]


def test_pauses_and_turns_are_waited_out(lab: SimEngine, seen: list[str]) -> None:
    """The request is parked meanwhile, before its handler and after it; the next one waits."""

    def slow(_exchange: Exchange, message: Message) -> Passage:
        yield Pause(1000)
        yield NextTurn()
        response = yield Handle(message)
        yield Pause(500)
        return response

    put(lab, FakeStage(StageKind.FAULTS, seen, slow))
    client = lab.client()
    assert heartbeat(client) is None
    assert client.socket.connection.is_parked
    lab.network.advance(1400)
    assert client.answer("Heartbeat", 3) is None
    lab.network.advance(100)
    assert client.answer("Heartbeat", 3).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_pause_of_no_time_is_none(lab: SimEngine, seen: list[str]) -> None:
    """The request goes on at once."""

    def serve(_exchange: Exchange, message: Message) -> Passage:
        yield Pause(0)
        return (yield Handle(message))

    put(lab, FakeStage(StageKind.FAULTS, seen, serve))
    assert heartbeat(lab.client()).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_handler_of_a_stage_has_it_in_place_of_all_further_in(lab: SimEngine, seen: list[str]) -> None:
    """As a login answers its own requests, which quotas and rights do not concern."""

    def login(exchange: Exchange, message: Message) -> Passage:
        return (yield Handle(message, lambda _call, _message: exchange.error(ErrorCode.ILLEGAL_SASL_STATE)))

    put(lab, FakeStage(StageKind.LOGIN, seen, login), FakeStage(StageKind.QUOTAS, seen))
    assert heartbeat(lab.client()).error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert seen == []


def test_an_answer_that_comes_later_goes_out_through_all_stages(seen: list[str]) -> None:
    """A parked JoinGroup is answered when its rebalance ends."""
    lab = SimEngine({"group.initial.rebalance.delay.ms": 3000})
    put(lab, FakeStage(StageKind.FAULTS, seen), FakeStage(StageKind.AUTHORIZATION, seen))
    client = lab.client()
    client.join()
    assert seen == ["in FAULTS", "in AUTHORIZATION"]
    lab.network.advance(10_000)
    assert client.answer("JoinGroup", 3).error_code == ErrorCode.NONE
    assert seen[2:] == ["out AUTHORIZATION", "out FAULTS"]


def test_a_client_that_goes_while_its_request_waits(lab: SimEngine, seen: list[str]) -> None:
    """Its request is handled all the same, as in Kafka; nothing is left of it then."""

    def slow(exchange: Exchange, message: Message) -> Passage:
        yield Pause(1000)
        seen.append(f"gone {exchange.is_gone}")
        return (yield Handle(message))

    put(lab, FakeStage(StageKind.FAULTS, seen, slow), FakeStage(StageKind.QUOTAS, seen))
    client = lab.client()
    client.socket.send(request("JoinGroup", 3, **{**JOIN, "group_id": "g"}))
    client.socket.close()
    lab.network.advance(1000)
    assert seen == ["gone True", "in QUOTAS", "out QUOTAS"]
    assert [group.group_id for group in lab.client().ask("ListGroups", 1).groups] == ["g"]
    assert client.socket.connection.is_gone
    assert lab.engine.errors == []


def test_a_settled_request_gets_nothing_more(lab: SimEngine, seen: list[str]) -> None:
    """A dropped one stays parked, and what the stage returns is sent to nobody."""

    def drop(exchange: Exchange, message: Message) -> Passage:
        response = yield Handle(message)
        exchange.drop()
        return response

    put(lab, FakeStage(StageKind.FAULTS, seen, drop))
    client = lab.client()
    assert heartbeat(client) is None
    lab.network.advance(100_000)
    assert client.socket.take() == b""
    assert client.socket.connection.is_parked


def test_a_throttled_client_waits_after_its_answer(lab: SimEngine, seen: list[str]) -> None:
    """The answer goes out at once, and the next request of the connection when the time is over."""

    def throttle(exchange: Exchange, message: Message) -> Passage:
        exchange.mute_ms = 1000
        return (yield Handle(message))

    put(lab, FakeStage(StageKind.QUOTAS, seen, throttle))
    client = lab.client()
    assert heartbeat(client).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert heartbeat(client) is None
    lab.network.advance(1000)
    assert client.answer("Heartbeat", 3).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_request_is_answered_once(lab: SimEngine, seen: list[str]) -> None:
    """A handler that replies twice is a bug, and the client has the first answer."""

    def twice(exchange: Exchange, message: Message) -> Passage:
        def handler(call: Any, _message: Message) -> None:
            call.reply(exchange.error(ErrorCode.NOT_COORDINATOR))
            call.reply(exchange.error(ErrorCode.NONE))

        return (yield Handle(message, handler))

    put(lab, FakeStage(StageKind.FAULTS, seen, twice))
    assert heartbeat(lab.client()).error_code == ErrorCode.NOT_COORDINATOR
    assert [str(error) for error in lab.engine.errors] == ["a request was answered twice"]
