"""Real sockets: many clients, clients that do not read, clients that vanish, ports that are taken."""

import select
import socket
import struct
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from fakebroker.protocol.wire.messages.metadata import MetadataRequestTopic
from fakebroker.serve.net.client_connection import MAX_WAITING_BYTES
from fakebroker.testing.broker import FakeBroker
from tests.support.frames import JOIN, framed, long_poll, request

GROUP: dict[str, Any] = {"group_id": "g", "generation_id": 1, "member_id": "m"}


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker() as broker:
        yield broker


def connect(broker: FakeBroker) -> socket.socket:
    listener = broker.listeners[0]
    return socket.create_connection((listener.host, listener.port), timeout=20)


def read_frame(client: socket.socket) -> bytes:
    (size,) = struct.unpack(">i", read(client, 4))
    return read(client, size)


def read(client: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        chunk = client.recv(size - len(data))
        assert chunk, "closed"
        data += chunk
    return bytes(data)


def correlation_id(frame: bytes) -> int:
    return int(struct.unpack_from(">i", frame)[0])


def test_many_clients_at_once(broker: FakeBroker) -> None:
    """Three hundred connections are accepted and answered, and forgotten when they go."""
    clients = [connect(broker) for _ in range(300)]
    for number, client in enumerate(clients):
        client.sendall(request("ApiVersions", 0, number))
    assert [correlation_id(read_frame(client)) for client in clients] == list(range(300))
    for client in clients:
        client.close()
    broker.wait(lambda: not broker._engine.connections or None, 20, lambda: "connections are left")


def test_turns_are_timed(broker: FakeBroker) -> None:
    """The engine has a stopwatch that goes on: it ends turns in which requests take long."""
    stopwatch = broker._engine.cluster.timers.passes.stopwatch
    before_s = stopwatch()
    broker.wait(lambda: stopwatch() > before_s or None, 20, lambda: "the stopwatch stands still")


def test_a_client_that_does_not_read_blocks_itself_only(broker: FakeBroker) -> None:
    """We stop reading from it, serve the others, and it gets every answer when it reads at last."""
    broker.create_topic("t", partitions=200)
    asked = framed(request("Metadata", 1, 0, topics=[MetadataRequestTopic(name="t")])[4:] + bytes(30_000))
    with closing(connect(broker)) as slow, closing(connect(broker)) as other:
        sent = send_until_blocked(slow, asked)
        other.sendall(request("Heartbeat", 4, 7, **GROUP))
        assert correlation_id(read_frame(other)) == 7
        slow.settimeout(20)
        answers = {read_frame(slow) for _ in range(sent // len(asked))}
        assert len(answers) == 1


@pytest.mark.skipif(not hasattr(select, "epoll"), reason="other loops do not tell the end of what is not read")
@pytest.mark.parametrize("is_reset", [True, False])
def test_a_client_that_leaves_is_noticed_behind_what_is_not_read(is_reset: bool) -> None:
    """It sent more behind a Fetch that waits for 24 days than we read; its connection ends with it all the same."""
    with FakeBroker(profile="kafka") as broker:
        broker.create_topic("t")
        client = connect(broker)
        client.sendall(long_poll(2**31 - 1))
        connections = broker._engine.connections
        broker.wait(lambda: any(each.is_parked for each in [*connections.values()]) or None, 20, lambda: "it waits")
        client.sendall(bytes(MAX_WAITING_BYTES))
        (connection,) = connections.values()
        broker.wait(lambda: connection.waiting_bytes >= MAX_WAITING_BYTES or None, 20, lambda: "it is read no more")
        client.sendall(b"more")
        if is_reset:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
        broker.wait(lambda: not connections or None, 20, lambda: "the connection is left")


def send_until_blocked(client: socket.socket, data: bytes) -> int:
    """Send the same bytes over and over without reading, until nothing more is taken for a moment."""
    client.settimeout(0.3)
    sent = 0
    while sent < 50_000_000:
        try:
            sent += client.send(data[sent % len(data) :])
        except TimeoutError:
            return sent
    raise AssertionError("the broker reads without end")


def test_a_client_that_vanishes_while_parked(broker: FakeBroker, caplog: pytest.LogCaptureFixture) -> None:
    """A reset in the middle of a parked request: no error, nothing written, nobody else disturbed."""
    client = connect(broker)
    broker.create_topic("t")
    client.sendall(long_poll(60_000))
    client.sendall(request("JoinGroup", 3, 2, **JOIN))
    broker.wait(lambda: broker._engine.connections or None, 20, lambda: "not connected")
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
    broker.wait(lambda: not broker._engine.connections or None, 20, lambda: "the connection is still there")
    with closing(connect(broker)) as other:
        other.sendall(request("Heartbeat", 4, 7, **GROUP))
        assert correlation_id(read_frame(other)) == 7
    assert [record.message for record in caplog.records] == []


def test_garbage_closes_that_connection(broker: FakeBroker) -> None:
    """Who sends nonsense reads the end of the stream."""
    with closing(connect(broker)) as client, closing(connect(broker)) as other:
        client.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert client.recv(100) == b""
        other.sendall(framed(b"\0" * 4))
        assert other.recv(100) == b""


def test_a_client_may_end_its_side_and_still_read(broker: FakeBroker) -> None:
    """Two hundred requests and the end of the stream: two hundred answers and the end of the stream."""
    with closing(connect(broker)) as client:
        client.sendall(b"".join(request("Heartbeat", 4, n, **GROUP) for n in range(200)))
        client.shutdown(socket.SHUT_WR)
        assert [correlation_id(read_frame(client)) for _ in range(200)] == list(range(200))
        assert client.recv(1) == b""


def test_a_large_frame_in_many_pieces(broker: FakeBroker) -> None:
    """Five megabytes arrive as the network likes and are one request."""
    with closing(connect(broker)) as client:
        body = request("Heartbeat", 4, 7, **GROUP)[4:] + bytes(5_000_000)
        client.sendall(framed(body))
        assert correlation_id(read_frame(client)) == 7


def test_timers_ring_by_themselves(broker: FakeBroker) -> None:
    """Real time passes: a parked fetch is answered when its wait is over."""
    broker.create_topic("t")
    with closing(connect(broker)) as client:
        client.sendall(long_poll(30))
        assert correlation_id(read_frame(client)) == 1


def test_a_port_that_is_taken_is_said_plainly(broker: FakeBroker) -> None:
    """The error names the address; the broker that failed can be started when the port is free."""
    port = broker.listeners[0].port
    second = FakeBroker(listen=f"127.0.0.1:{port}")
    with pytest.raises(OSError, match=f"cannot listen on 127.0.0.1:{port}: Address already in use"):
        second.start()
    broker.stop()
    with second:
        assert second.bootstrap == f"127.0.0.1:{port}"
