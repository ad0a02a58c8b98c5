"""The driver over sockets: bytes both ways, and every way a connection can end."""

import socket
from collections.abc import Iterator

import pytest

from fakebroker.client.connection import ClientConnection
from fakebroker.client.scripted.tcp_driver import TcpDriver
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.framing import with_length
from fakebroker.protocol.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from tests.protocol.wire.responses import encode_response

REQUEST = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
ANSWER = with_length(encode_response(HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS), 0, 1))


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    """A port that only listens: the test plays the broker."""
    with socket.create_server(("127.0.0.1", 0)) as bound:
        yield bound


@pytest.fixture
def driver(listening: socket.socket) -> Iterator[TcpDriver]:
    made = TcpDriver(*listening.getsockname())
    yield made
    made.close_all()


def connected(driver: TcpDriver, listening: socket.socket) -> tuple[ClientConnection, socket.socket]:
    """A client and the broker's end of its connection."""
    client = ClientConnection("c")
    driver.open(client)
    return client, listening.accept()[0]


def test_a_request_goes_out_and_its_answer_comes_in(driver: TcpDriver, listening: socket.socket) -> None:
    """Time passes until the answer is there, and not longer."""
    client, broker = connected(driver, listening)
    with broker:
        pending = client.send(REQUEST, 0)
        driver.flush(client)
        assert broker.recv(1000).endswith(b"\x00\x01m")
        broker.sendall(ANSWER)

        assert driver.pass_time(10_000, lambda: pending.is_done)
    assert pending.result() == HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)


def test_time_that_is_over_is_reported(driver: TcpDriver, listening: socket.socket) -> None:
    """Without an answer the wait ends when its time is up, with a connection or without any."""
    assert not driver.pass_time(5, lambda: False)
    _, broker = connected(driver, listening)
    before_ms = driver.mono_ms
    with broker:
        assert not driver.pass_time(5, lambda: False)

    assert driver.mono_ms - before_ms >= 4


def test_a_broker_that_closes_is_noticed(driver: TcpDriver, listening: socket.socket) -> None:
    """The end of the stream ends what is under way."""
    client, broker = connected(driver, listening)
    pending = client.send(REQUEST, 0)
    driver.flush(client)
    broker.recv(1000)
    broker.close()

    assert driver.pass_time(10_000, lambda: pending.is_done)
    assert client.closed_reason == "closed by the broker"


def test_a_connection_that_is_reset_is_noticed(driver: TcpDriver, listening: socket.socket) -> None:
    """A broker that aborts with bytes unread resets the connection, which is an end like any other."""
    client, broker = connected(driver, listening)
    client.send(REQUEST, 0)
    driver.flush(client)
    broker.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    broker.close()

    assert driver.pass_time(10_000, lambda: client.closed_reason is not None)
    assert "connection broken" in str(client.closed_reason)


def test_sending_on_a_closed_connection_is_nothing(driver: TcpDriver, listening: socket.socket) -> None:
    """What a client queues after its end goes nowhere."""
    client, broker = connected(driver, listening)
    with broker:
        driver.close(client)
        client.send(REQUEST, 0)
        driver.flush(client)

        assert broker.recv(1000) == b""


def test_the_tolerance_is_the_formats() -> None:
    """A wait may differ by 40 % and 400 ms, times the slack."""
    assert TcpDriver("h", 1).tolerance_ms(1000) == 800
    assert TcpDriver("h", 1, slack=2).tolerance_ms(0) == 800
