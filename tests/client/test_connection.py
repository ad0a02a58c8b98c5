"""One connection of a client: requests out, answers in, whatever the pieces."""

import pytest

from fakebroker.client.connection import ClientConnection, ConnectionLost
from fakebroker.protocol.errors import ErrorCode, WireError
from fakebroker.protocol.schema import Message
from fakebroker.protocol.wire.frame import decode_request_header
from fakebroker.protocol.wire.framing import with_length
from fakebroker.protocol.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from fakebroker.protocol.wire.messages.produce import ProduceRequest
from tests.protocol.wire.responses import encode_response

HEARTBEAT = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")


def answer(correlation_id: int, message: Message | None = None, version: int = 4) -> bytes:
    return with_length(
        encode_response(
            message or HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS), version, correlation_id
        )
    )


def test_requests_are_numbered_and_framed() -> None:
    """Every request leaves with its length, the client's name and a correlation id of its own."""
    client = ClientConnection("me")
    client.send(HEARTBEAT, 4)
    first = client.data_to_send()
    client.send(HEARTBEAT, 4)
    header, _ = decode_request_header(client.data_to_send()[4:])

    assert int.from_bytes(first[:4], "big") == len(first) - 4
    assert (header.api_key, header.api_version, header.client_id, header.correlation_id) == (12, 4, "me", 2)


def test_answers_find_their_requests() -> None:
    """An answer belongs to the request with its correlation id, and comes decoded."""
    client = ClientConnection()
    first, second = client.send(HEARTBEAT, 4), client.send(HEARTBEAT, 4)
    client.receive(answer(2))

    assert not first.is_done
    assert second.result() == HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)


def test_answers_may_come_in_pieces() -> None:
    """Bytes are taken as they come, one at a time if need be."""
    client = ClientConnection()
    pending = [client.send(HEARTBEAT, 4), client.send(HEARTBEAT, 4)]
    for byte in answer(1) + answer(2):
        client.receive(bytes([byte]))

    assert [p.is_done for p in pending] == [True, True]


def test_a_lost_connection_ends_every_request() -> None:
    """What is under way when the connection goes, and what is expected later, ends with the reason."""
    client = ClientConnection()
    pending = client.send(HEARTBEAT, 4)
    client.close("closed by the broker")

    with pytest.raises(ConnectionLost, match=r"Heartbeat v4 \(correlation id 1\): closed by the broker"):
        pending.result()
    with pytest.raises(ConnectionLost):
        client.send(HEARTBEAT, 4).result()


def test_an_answer_nobody_waits_for_ends_the_connection() -> None:
    """A wrong correlation id means that nothing after it can be trusted."""
    client = ClientConnection()
    pending = client.send(HEARTBEAT, 4)
    client.receive(answer(9))

    assert client.closed_reason == "the answer with correlation id 9 belongs to no request"
    assert isinstance(pending.error, ConnectionLost)


def test_an_answer_that_does_not_decode_is_an_error_of_its_request() -> None:
    """Only the request whose answer is broken suffers."""
    client = ClientConnection()
    pending = client.send(HEARTBEAT, 4)
    client.receive(with_length((1).to_bytes(4, "big") + b"\0\0"))

    with pytest.raises(WireError, match="HeartbeatResponse"):
        pending.result()
    assert client.closed_reason is None


def test_an_impossible_length_ends_the_connection() -> None:
    """A stream that is no stream of frames is given up."""
    client = ClientConnection()
    client.receive(b"HTTP/1.1 400 Bad Request")

    assert client.closed_reason is not None
    assert "HTTP" in client.closed_reason


def test_a_request_without_an_answer_is_done_at_once() -> None:
    """Produce with acks 0 is never answered, and nobody waits."""
    client = ClientConnection()

    assert client.send(ProduceRequest(acks=0), 9, expects_answer=False).is_done
    assert client.pending == {}


def test_a_result_asked_for_too_early_is_a_mistake() -> None:
    """There is no answer before it came."""
    with pytest.raises(RuntimeError, match="no answer yet"):
        ClientConnection().send(HEARTBEAT, 4).result()
