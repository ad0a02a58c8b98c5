"""One client's protocol object, on a transport that only takes notes."""

import asyncio
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fakebroker.net.client_connection import (
    HANDED_OVER,
    MOST_UNSENT_BYTES,
    MOST_WAITING_BYTES,
    PIECE_BYTES,
    ClientConnection,
)
from fakebroker.net.ports import Ports
from fakebroker.net.server import Server
from fakebroker.records.batch import build_batch
from fakebroker.records.record_codec import Record
from fakebroker.wire.messages.fetch import FetchTopic
from tests.support.engine import SimEngine
from tests.support.frames import JOIN, correlation_ids, framed, request


class Notes(asyncio.Transport):
    """A transport that writes down what is asked of it."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []
        self.calls: list[str] = []
        self.lost: Callable[[], object] = lambda: None  # tells the protocol, as a transport does later on

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self.calls.append(f"limits {high} {low}")

    def write(self, data: Any) -> None:
        assert not self.is_closing(), "nothing may be written after the connection is lost"
        self.writes.append(data)

    def is_closing(self) -> bool:
        return "close" in self.calls or "abort" in self.calls

    def close(self) -> None:
        self.calls.append("close")

    def abort(self) -> None:
        self.calls.append("abort")
        self.lost()

    def pause_reading(self) -> None:
        self.calls.append("pause")

    def resume_reading(self) -> None:
        self.calls.append("resume")


class Bare(Server):
    """A server whose loop watches no sockets."""

    def watch(self, accepted: socket.socket, on_readable: Callable[[], None]) -> None:
        assert accepted is not on_readable

    def unwatch(self, accepted: socket.socket) -> None:
        assert accepted


class NoSocket(socket.socket):
    """A socket that is not connected to anything; `local` is our side's address."""

    local: tuple[Any, ...] = ("127.0.0.1", 9092)

    def getsockname(self) -> Any:
        return self.local


class Desk:
    """A server without sockets, and its loop, which the test turns by hand."""

    def __init__(self, **options: Any) -> None:
        self.lab = SimEngine(**options)
        self.sockets: list[socket.socket] = []
        self.loop = asyncio.new_event_loop()
        self.server = Bare(Ports(self.lab.engine.listeners))
        self.loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        self.server._loop = asyncio.get_running_loop()
        self.server._is_open = True
        self.server.use(self.lab.engine)

    def client(self) -> tuple[ClientConnection, Notes]:
        client, notes = self.accept(NoSocket(), "127.0.0.9"), Notes()
        self.open(client, notes)
        return client, notes

    def open(self, client: ClientConnection, notes: "Notes") -> None:
        """asyncio takes the socket over, as after the first bytes."""
        notes.lost = lambda: self.loop.call_soon(client.connection_lost, None)
        client._move(HANDED_OVER)
        client.connection_made(notes)
        notes.calls.clear()

    def accept(self, accepted: socket.socket, host: str) -> ClientConnection:
        self.sockets.append(accepted)
        return ClientConnection(self.server, self.lab.engine.listeners[0], accepted, host)

    def turn_loop(self) -> None:
        self.loop.run_until_complete(asyncio.sleep(0))


@pytest.fixture
def desks() -> Iterator[list[Desk]]:
    made: list[Desk] = []
    yield made
    for desk in made:
        desk.loop.run_until_complete(desk.server.stop())
        desk.loop.close()
        for accepted in desk.sockets:
            accepted.close()


@pytest.fixture
def desk(desks: list[Desk]) -> Desk:
    desks.append(Desk())
    return desks[-1]


@pytest.fixture
def slow_desk(desks: list[Desk]) -> Desk:
    """A broker that lets a first join wait for three seconds."""
    desks.append(Desk(profile="kafka"))
    return desks[-1]


def heartbeats(count: int) -> bytes:
    return b"".join(request("Heartbeat", 4, n, group_id="g", generation_id=1, member_id="m") for n in range(count))


def test_the_answers_of_a_turn_leave_in_one_write(desk: Desk) -> None:
    """Fifty pipelined requests cost one system call."""
    client, notes = desk.client()
    client.data_received(heartbeats(50))
    (write,) = notes.writes
    assert correlation_ids(write) == list(range(50))


def test_the_next_turn_comes_after_the_others(desk: Desk) -> None:
    """64 requests, then whoever else has something to say, then the rest."""
    flood, flood_notes = desk.client()
    other, other_notes = desk.client()
    flood.data_received(heartbeats(100))
    other.data_received(heartbeats(1))
    assert [len(correlation_ids(write)) for write in flood_notes.writes + other_notes.writes] == [64, 1]
    desk.turn_loop()
    assert [len(correlation_ids(write)) for write in flood_notes.writes] == [64, 36]


def test_a_client_that_does_not_read_gets_no_turn(desk: Desk) -> None:
    """While its answers pile up no request of its own is taken up, and nothing is read from it."""
    client, notes = desk.client()
    client.pause_writing()
    assert notes.calls == ["pause"]
    client.data_received(heartbeats(100))  # what was on its way
    desk.turn_loop()
    assert len(notes.writes) == 1
    client.resume_writing()
    desk.turn_loop()
    assert [len(correlation_ids(write)) for write in notes.writes] == [64, 36]
    assert notes.calls == ["pause", "resume"]


def test_a_parked_client_that_goes_on_sending_is_not_read(slow_desk: Desk) -> None:
    """Behind a parked request a quarter of a megabyte may wait; then we stop reading until it is answered."""
    client, notes = slow_desk.client()
    client.data_received(request("JoinGroup", 3, 900, **JOIN))
    chunk = heartbeats(1000)
    for _ in range(MOST_WAITING_BYTES // len(chunk)):
        client.data_received(chunk)
        assert notes.calls == []
    client.data_received(chunk)
    assert notes.calls == ["pause"]

    slow_desk.server.clock.advance(3_000, timers=True)
    for _ in range(200):
        slow_desk.turn_loop()
    assert notes.calls == ["pause", "resume"]
    assert correlation_ids(b"".join(notes.writes))[:3] == [900, 0, 1]
    assert len(correlation_ids(b"".join(notes.writes))) == 1 + 1000 * (MOST_WAITING_BYTES // len(chunk) + 1)


def test_a_fault_closes_after_the_answers_before_it(desk: Desk) -> None:
    """What was answered is sent, then the connection is closed."""
    client, notes = desk.client()
    client.data_received(heartbeats(2) + framed(b""))
    assert correlation_ids(b"".join(notes.writes)) == [0, 1]
    assert notes.calls == ["close"]
    client.data_received(heartbeats(1))
    assert len(notes.writes) == 1


def test_requests_before_the_end_are_answered(desk: Desk) -> None:
    """A client that sends its requests and its end in one go gets all its answers; then we close."""
    client, notes = desk.client()
    client.data_received(heartbeats(150))
    assert client.eof_received() is True
    for _ in range(3):
        desk.turn_loop()
    assert len(correlation_ids(b"".join(notes.writes))) == 150
    assert notes.calls == ["close"]


def test_the_end_of_an_idle_client_closes_at_once(desk: Desk) -> None:
    """asyncio closes the transport when there is nothing left to do."""
    client, _ = desk.client()
    client.data_received(heartbeats(1))
    assert client.eof_received() is False


def test_nothing_is_written_after_the_connection_is_lost(slow_desk: Desk) -> None:
    """The late answer of a client that is gone goes nowhere."""
    client, notes = slow_desk.client()
    client.data_received(request("JoinGroup", 3, **JOIN))
    notes.calls.append("close")
    client.connection_lost(None)
    slow_desk.server.clock.advance(60_000, timers=True)
    assert notes.writes == []
    assert slow_desk.lab.engine.errors == []


def test_a_client_is_known_by_its_address(desk: Desk) -> None:
    """As Kafka writes it, with a slash; an IPv4 client on an IPv6 socket is an IPv4 client."""
    accepted = NoSocket()
    accepted.local = ("::ffff:10.0.0.1", 9092, 0, 0)
    connection = desk.accept(accepted, "::ffff:10.0.0.7")._connection
    assert (connection.peer.client_host, connection.local_address.host) == ("/10.0.0.7", "10.0.0.1")


def test_another_engine_takes_over(desk: Desk) -> None:
    """`use` disconnects everybody; who comes back meets the new engine."""
    _, notes = desk.client()
    fresh = SimEngine(listeners=list(desk.lab.engine.listeners))
    desk.server.use(fresh.engine)
    assert notes.calls == ["abort"]
    desk.client()
    assert len(fresh.engine.connections) == 1
    assert desk.lab.engine.connections == {}


BATCHES = [build_batch([Record(0, 1_700_000_000_000, None, b"v" * size)]) for size in (300_000, 90_000, 200_000, 100)]


class Narrow(Notes):
    """A transport that takes 64 KiB and asks for no more until it is told that the client has read."""

    client: ClientConnection

    def write(self, data: Any) -> None:
        super().write(data)
        if len(data) > MOST_UNSENT_BYTES:
            self.client.pause_writing()

    def get_write_buffer_size(self) -> int:
        return 0


def ask_for_all(desk: Desk) -> tuple[ClientConnection, Narrow, bytes]:
    """A client whose socket takes nothing; it asks for all batches. Also the records as they are stored."""
    log = desk.lab.cluster.topics.create("t", 1, 1, {"retention.ms": "-1"}).partitions[0].log
    for batch in BATCHES:
        log.append(batch, desk.lab.engine.now)
    client, notes = desk.accept(NoSocket(), "127.0.0.9"), Narrow()
    notes.client = client
    desk.open(client, notes)
    row = (0, -1, 0, -1, -1, 1 << 20, bytes(16), 0)
    client.data_received(request("Fetch", 11, session_epoch=-1, topics=[FetchTopic(topic="t", partitions=[row])]))
    return client, notes, b"".join(log.batches())


def test_a_slow_reader_costs_a_piece(desk: Desk) -> None:
    """Of a large answer the transport has one piece at a time, cut out of the stored batch; in the end all has come."""
    client, notes, stored = ask_for_all(desk)
    assert sum(map(len, notes.writes)) == PIECE_BYTES
    assert notes.calls == ["pause"]
    for _ in range(20):
        client.resume_writing()
    assert stored in b"".join(notes.writes)
    assert len(correlation_ids(b"".join(notes.writes))) == 1
    assert sum(isinstance(write, memoryview) for write in notes.writes) > 5
    assert notes.calls[-1] == "resume"


@pytest.mark.parametrize("how", ["fault", "end"])
def test_a_slow_reader_gets_everything_before_the_end(desk: Desk, how: str) -> None:
    """A fault, or the client's own end, closes after the last piece."""
    client, notes, stored = ask_for_all(desk)
    if how == "fault":
        client.data_received(framed(b""))
    else:
        assert client.eof_received() is True
    assert "close" not in notes.calls
    for _ in range(20):
        client.resume_writing()
    assert notes.calls[-1] == "close"
    assert stored in b"".join(notes.writes)


def test_a_slow_reader_that_leaves_costs_nothing(desk: Desk) -> None:
    """What it has not read is forgotten."""
    client, _, _ = ask_for_all(desk)
    client.connection_lost(None)
    assert not client._unsent
