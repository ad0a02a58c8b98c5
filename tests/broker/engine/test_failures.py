"""What becomes of a handler that raises (AV-10), closes, stays silent, or answers late."""

from types import SimpleNamespace
from typing import Any

import pytest

from fakebroker.broker.apis import handlers
from fakebroker.broker.apis.call import Call
from fakebroker.protocol.errors import CloseConnection, ErrorCode, KafkaError
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.messages.heartbeat import HeartbeatResponse
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequestTopic
from fakebroker.protocol.wire.messages.produce import ProduceRequest
from tests.support.engine import SimEngine
from tests.support.frames import correlation_ids, request

HEARTBEAT: dict[str, Any] = {"group_id": "g", "generation_id": 1, "member_id": "m"}


@pytest.fixture
def answer_with(monkeypatch: pytest.MonkeyPatch) -> Any:
    """answer_with(handle): from now on every API is handled by that function."""

    def install(handle: Any) -> None:
        monkeypatch.setattr(handlers, "handler", lambda _key: SimpleNamespace(handle=handle))

    return install


def broken(call: Call, request: Any) -> Any:
    raise ZeroDivisionError("a bug")


@pytest.mark.rules("AV-10")
def test_a_bug_is_answered_with_minus_one_and_kept(answer_with: Any) -> None:
    """The client gets the API's own error layout, the test gets the exception, the connection goes on."""
    answer_with(broken)
    lab = SimEngine()
    client = lab.client()
    assert client.ask("Heartbeat", 4, **HEARTBEAT).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert client.ask("Heartbeat", 0, **HEARTBEAT).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    (error,) = lab.engine.errors
    assert (repr(error), error.__notes__[1:]) == ("ZeroDivisionError('a bug')", ["and 1 more of this kind"])
    assert not client.socket.is_closed


def test_a_kept_bug_says_where_it_was_raised_and_holds_nothing(answer_with: Any) -> None:
    """Its traceback is a note, text; the frames are gone, and with them the request."""

    def handle(call: Call, request: Any) -> Any:
        try:
            broken(call, request)
        except ZeroDivisionError as error:
            raise ValueError("outer") from error

    answer_with(handle)
    lab = SimEngine()
    client = lab.client()
    client.ask("Heartbeat", 4, **HEARTBEAT)
    (error,) = lab.engine.errors
    assert (error.__traceback__, error.__cause__, error.__context__) == (None, None, None)
    (note,) = error.__notes__
    assert "in broken" in note
    assert "ZeroDivisionError: a bug" in note
    assert note.endswith("ValueError: outer\n")


@pytest.mark.rules("AV-10")
def test_an_error_of_kafkas_is_answered_with_its_code(answer_with: Any) -> None:
    """A KafkaError that leaves a handler is the client's fault or the cluster's state, not a bug."""

    def handle(call: Call, request: Any) -> Any:
        raise KafkaError(ErrorCode.NOT_COORDINATOR)

    answer_with(handle)
    lab = SimEngine()
    assert lab.client().ask("Heartbeat", 4, **HEARTBEAT).error_code == ErrorCode.NOT_COORDINATOR
    assert lab.engine.errors == []


@pytest.mark.rules("AV-10")
def test_errors_stand_where_the_api_has_them(answer_with: Any) -> None:
    """An API whose answer has codes per partition gets the code on each partition that was asked for."""
    answer_with(broken)
    lab = SimEngine()
    topic = OffsetCommitRequestTopic(name="t", partitions=[(0, 5, -1, -1, ""), (3, 5, -1, -1, "")])
    answer = lab.client().ask("OffsetCommit", 8, group_id="g", topics=[topic])
    assert [(topic.name, topic.partitions) for topic in answer.topics] == [("t", [(0, -1), (3, -1)])]


def test_an_answer_that_has_no_encoding_is_a_bug(answer_with: Any) -> None:
    """What the handler returned cannot be written: -1 for the client, the reason for the test."""
    answer_with(lambda _call, _request: HeartbeatResponse(throttle_time_ms=2**40))
    lab = SimEngine()
    assert lab.client().ask("Heartbeat", 4, **HEARTBEAT).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert len(lab.engine.errors) == 1


def test_a_handler_may_close_the_connection(answer_with: Any) -> None:
    """CloseConnection: no answer, and the reason in the log."""

    def handle(call: Call, request: Any) -> Any:
        raise CloseConnection("acks 0 failed")

    answer_with(handle)
    lab = SimEngine()
    client = lab.client()
    assert client.ask("Heartbeat", 4, **HEARTBEAT) is None
    assert client.close_reason == "Heartbeat v4: acks 0 failed"
    assert lab.engine.errors == []


def test_no_answer_at_all(answer_with: Any) -> None:
    """A request that wants no answer gets none, and the next one is taken up."""

    def handle(call: Call, request: Any) -> Any:
        if request.generation_id == 0:
            return call.no_response()
        return HeartbeatResponse()

    answer_with(handle)
    client = SimEngine().client()
    for number, generation in enumerate([1, 0, 1]):
        client.socket.send(request("Heartbeat", 4, number, group_id="g", generation_id=generation, member_id="m"))
    assert correlation_ids(client.socket.take()) == [0, 2]


def test_a_reply_at_once_is_like_a_returned_answer(answer_with: Any) -> None:
    """A handler need not know whether what it waits for is there already."""
    answer_with(lambda call, _request: call.reply(HeartbeatResponse()))
    client = SimEngine().client()
    client.socket.send(b"".join(request("Heartbeat", 4, n, **HEARTBEAT) for n in range(3)))
    assert correlation_ids(client.socket.take()) == [0, 1, 2]


def test_each_call_knows_its_own_request(answer_with: Any) -> None:
    """Version, API, client and time of a call are those of its request, whatever went before on the connection."""
    seen = []

    def handle(call: Call, request: Any) -> Any:
        seen.append((call.api_key, call.version, call.client_id, call.client_host, call.node.id))
        if len(seen) % 2:
            return HeartbeatResponse()
        call.reply(HeartbeatResponse())
        return None

    answer_with(handle)
    client = SimEngine().client()
    for version, client_id in ((4, "a"), (0, "b"), (3, "b"), (3, None)):
        client.ask("Heartbeat", version, client_id=client_id, **HEARTBEAT)
    names = ["a", "b", "b", None]
    assert seen == [(12, v, name, "/127.0.0.1", 1) for v, name in zip((4, 0, 3, 3), names, strict=True)]


def test_a_late_answer_that_has_no_encoding_harms_nobody_else(answer_with: Any) -> None:
    """Whoever caused the reply goes on; the client of the parked request gets -1."""
    parked: list[Call] = []
    answer_with(lambda call, _request: parked.append(call))
    lab = SimEngine()
    client = lab.client()
    assert client.ask("Heartbeat", 4, **HEARTBEAT) is None
    parked[0].reply(HeartbeatResponse(throttle_time_ms=2**40))
    lab.network.flush()
    assert client.answer("Heartbeat", 4).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert len(lab.engine.errors) == 1


def test_a_second_answer_is_a_bug(answer_with: Any) -> None:
    """A call is void once it was answered: the next request's answer cannot be taken for it."""
    parked: list[Call] = []
    answer_with(lambda call, _request: parked.append(call))
    lab = SimEngine()
    client = lab.client()
    client.ask("Heartbeat", 4, **HEARTBEAT)
    parked[0].reply(HeartbeatResponse())
    client.ask("Heartbeat", 4, **HEARTBEAT)
    with pytest.raises(RuntimeError, match="answered twice"):
        parked[0].reply(HeartbeatResponse())


def test_a_call_that_its_handler_left_behind_when_it_raised_is_void(answer_with: Any) -> None:
    """The request was answered with -1; nobody may answer it again, least of all as the next request."""
    kept: list[Call] = []

    def handle(call: Call, request: Any) -> Any:
        kept.append(call)
        raise ZeroDivisionError

    answer_with(handle)
    client = SimEngine().client()
    assert client.ask("Heartbeat", 4, **HEARTBEAT).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    with pytest.raises(RuntimeError, match="answered twice"):
        kept[0].reply(HeartbeatResponse())


def test_on_close_learns_of_a_client_that_left_while_parked(answer_with: Any) -> None:
    """Only while parked: once the answer is given, nobody is informed."""
    parked: list[Call] = []
    closed_at: list[int] = []

    def handle(call: Call, request: Any) -> Any:
        parked.append(call)
        call.on_close(lambda now: closed_at.append(now.mono_ms))

    answer_with(handle)
    lab = SimEngine()
    gone, answered = lab.client(), lab.client()
    gone.ask("Heartbeat", 4, **HEARTBEAT)
    answered.ask("Heartbeat", 4, **HEARTBEAT)
    parked[1].reply(HeartbeatResponse())
    gone.socket.close()
    answered.socket.close()
    parked[0].reply(HeartbeatResponse())
    assert closed_at == [lab.network.now.mono_ms]
    assert lab.engine.errors == []


def test_a_parked_call_may_close_its_connection(answer_with: Any) -> None:
    """What turns out impossible later may still close."""
    parked: list[Call] = []
    answer_with(lambda call, _request: parked.append(call))
    lab = SimEngine()
    client = lab.client()
    client.ask("Heartbeat", 4, **HEARTBEAT)
    parked[0].close("it cannot be done")
    lab.network.flush()
    assert client.close_reason == "it cannot be done"


@pytest.mark.rules("AV-10")
def test_a_handler_that_cannot_be_loaded_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    """No client is cut off for it: the answer is -1, the test gets the exception, and the next request tries again."""
    real, failures = handlers.handler, [OSError(24, "Too many open files")]

    def handler(key: int) -> Any:
        if failures:
            raise failures.pop()
        return real(key)

    monkeypatch.setattr(handlers, "handler", handler)
    lab = SimEngine()
    client = lab.client()
    assert client.ask("Heartbeat", 4, **HEARTBEAT).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert client.ask("Heartbeat", 4, **HEARTBEAT).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert [str(error) for error in lab.engine.errors] == ["[Errno 24] Too many open files"]


@pytest.mark.rules("AV-10")
def test_the_journal_has_a_failed_request_too(answer_with: Any) -> None:
    """The story of a test includes the request that hit the bug."""
    answer_with(broken)
    lab = SimEngine()
    lab.client().ask("Heartbeat", 4, **HEARTBEAT)
    (exchange,) = lab.journal.requests("Heartbeat")
    assert exchange.errors == (ErrorCode.UNKNOWN_SERVER_ERROR,)


def test_a_real_produce_without_acks_gets_no_answer() -> None:
    """acks 0 all the way through the real handler."""
    client = SimEngine().client()
    client.socket.send(request("Produce", 7, 1, acks=0, timeout_ms=1000, topic_data=[]))
    client.socket.send(request("Heartbeat", 4, 2, **HEARTBEAT))
    assert correlation_ids(client.socket.take()) == [2]
    assert ProduceRequest.api_key == ApiKey.PRODUCE


def test_a_bug_of_the_engines_own_ends_that_connection_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing gets past the engine: the connection is closed, the test gets the exception."""
    lab = SimEngine()
    client, other = lab.client(), lab.client()

    def fail(*_: Any) -> None:
        raise ZeroDivisionError("in the journal")

    monkeypatch.setattr(lab.journal, "append", fail)
    client.socket.send(request("Heartbeat", 4, **HEARTBEAT))
    assert "in the journal" in client.close_reason
    assert ZeroDivisionError in [type(error) for error in lab.engine.errors]
    monkeypatch.undo()
    assert other.ask("Heartbeat", 4, **HEARTBEAT).error_code == ErrorCode.UNKNOWN_MEMBER_ID
