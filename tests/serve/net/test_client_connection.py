"""One client's socket and its connection, on a socket that only takes notes."""

import asyncio
import socket
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fakebroker.broker.engine.journal import Disconnected
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.wire.messages.fetch import FetchTopic
from fakebroker.serve.net.client_connection import CLOSED, MAX_WAITING_BYTES, READ_BYTES, ClientConnection
from fakebroker.serve.net.ports import Ports
from fakebroker.serve.net.server import Server
from tests.support.cluster import partition
from tests.support.engine import SimEngine
from tests.support.frames import JOIN, correlation_ids, framed, long_poll, request

BOUNDLESS = 1 << 40


class Wire:
    """In the place of a socket: the test says what arrives, and how much may be sent."""

    def __init__(self, local: tuple[Any, ...] = ("127.0.0.1", 9092)) -> None:
        self.local = local
        self.arrived: deque[bytes | OSError] = deque()
        self.writes: list[bytes] = []
        self.room_bytes = BOUNDLESS
        self.is_broken = False  # sends fail
        self.is_closed = False
        self.options: list[tuple[Any, ...]] = []

    def fileno(self) -> int:
        return -1 if self.is_closed else id(self)

    def getsockname(self) -> tuple[Any, ...]:
        return self.local

    def setsockopt(self, *option: Any) -> None:
        self.options.append(option)

    def recv(self, size: int) -> bytes:
        if not self.arrived:
            raise BlockingIOError
        data = self.arrived.popleft()
        if isinstance(data, OSError):
            raise data
        if len(data) > size:
            self.arrived.appendleft(data[size:])
        return data[:size]

    def send(self, data: bytes) -> int:
        return self.sendmsg([data])

    def sendmsg(self, pieces: list[bytes]) -> int:
        assert not self.is_closed, "nothing may be written after the connection is lost"
        if self.is_broken:
            raise BrokenPipeError("broken pipe")
        sent = b"".join(pieces)[: self.room_bytes]
        if not sent:
            raise BlockingIOError
        self.room_bytes -= len(sent)
        self.writes.append(sent)
        return len(sent)

    def close(self) -> None:
        self.is_closed = True

    @property
    def answers(self) -> list[int]:
        """The correlation ids of what was sent, which must be whole answers."""
        return correlation_ids(b"".join(self.writes))


class Watched:
    """Who is to be called for which descriptor; nobody calls but the test."""

    def __init__(self) -> None:
        self.readers: dict[int, Callable[[], None]] = {}
        self.writers: dict[int, Callable[[], None]] = {}

    def add_reader(self, fd: int, callback: Callable[[], None], /) -> None:
        assert fd >= 0
        self.readers[fd] = callback

    def remove_reader(self, fd: int, /) -> None:
        assert fd >= 0
        self.readers.pop(fd, None)

    def add_writer(self, fd: int, callback: Callable[[], None], /) -> None:
        assert fd >= 0
        self.writers[fd] = callback

    def remove_writer(self, fd: int, /) -> None:
        assert fd >= 0
        self.writers.pop(fd, None)


class Desk:
    """A server without sockets, and its loop, which the test turns by hand."""

    def __init__(self, **options: Any) -> None:
        self.lab = SimEngine(**options)
        self.loop = asyncio.new_event_loop()
        self.server = Server(Ports(self.lab.engine.listeners))
        self.watched = self.server.sockets = Watched()
        self.loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        self.server._loop = asyncio.get_running_loop()
        self.server._is_open = True
        self.server.use(self.lab.engine)

    def client(self, wire: Wire | None = None, host: str = "127.0.0.9") -> tuple[ClientConnection, Wire]:
        wire = wire or Wire()
        client = ClientConnection(self.server, self.lab.engine.listeners[0], wire, host)  # type: ignore[arg-type]
        client.begin()
        return client, wire

    def arrive(self, wire: Wire, *data: bytes | OSError) -> None:
        """Something arrives, b"" for the end; it is read if somebody is to be called for it."""
        wire.arrived += data
        while wire.arrived and not wire.is_closed and (read := self.watched.readers.get(wire.fileno())):
            read()

    def make_room(self, wire: Wire, size: int = BOUNDLESS) -> None:
        """The client reads so many bytes; whoever waits for that is called."""
        wire.room_bytes += size
        if write := self.watched.writers.get(wire.fileno()):
            write()

    def is_read(self, wire: Wire) -> bool:
        """Whether somebody is to be called when something arrives."""
        return wire.fileno() in self.watched.readers

    def turn_loop(self) -> None:
        self.loop.run_until_complete(asyncio.sleep(0))

    def end(self) -> None:
        """Stop the server; nothing is left of it."""
        self.loop.run_until_complete(self.server.stop())
        self.loop.close()
        assert not self.watched.readers
        assert not self.watched.writers
        assert self.lab.engine.errors == []

    def reasons(self) -> list[str]:
        """Why connections have ended, by the journal."""
        return [each.event.reason for each in self.lab.journal.events(Disconnected)]


@pytest.fixture
def desks() -> Iterator[list[Desk]]:
    made: list[Desk] = []
    yield made
    for desk in made:
        desk.end()


@pytest.fixture
def desk(desks: list[Desk]) -> Desk:
    desks.append(Desk())
    return desks[-1]


@pytest.fixture
def slow_desk(desks: list[Desk]) -> Desk:
    """A broker that lets a first join wait for three seconds."""
    desks.append(Desk(profile="kafka"))
    return desks[-1]


def heartbeats(count: int, first: int = 0) -> bytes:
    numbers = range(first, first + count)
    return b"".join(request("Heartbeat", 4, n, group_id="g", generation_id=1, member_id="m") for n in numbers)


# Turns


def test_the_answers_of_a_turn_leave_in_one_write(desk: Desk) -> None:
    """Fifty pipelined requests cost one system call."""
    _, wire = desk.client()
    desk.arrive(wire, heartbeats(50))
    (write,) = wire.writes
    assert correlation_ids(write) == list(range(50))


def test_the_next_turn_comes_after_the_others(desk: Desk) -> None:
    """64 requests, then whoever else has something to say, then the rest."""
    (_, flood), (_, other) = desk.client(), desk.client()
    desk.arrive(flood, heartbeats(100))
    desk.arrive(other, heartbeats(1))
    assert [len(correlation_ids(write)) for write in flood.writes + other.writes] == [64, 1]
    desk.turn_loop()
    assert [len(correlation_ids(write)) for write in flood.writes] == [64, 36]


def test_one_read_takes_a_share(desk: Desk) -> None:
    """Of a client that has sent much a read takes a bounded share, and asks to be called again for the rest."""
    _, wire = desk.client()
    fd, data = wire.fileno(), framed(heartbeats(1)[4:] + bytes(2 * READ_BYTES))
    wire.arrived.append(data + heartbeats(1, 7))
    calls = 0
    while wire.arrived:
        read = desk.watched.readers.pop(fd)  # as edge-triggered: nobody tells it twice
        read()
        calls += 1
    assert calls == 3
    desk.turn_loop()  # a long frame is decoded in steps
    assert wire.answers == [0, 7]


def test_what_came_with_the_connection_is_read_at_once(desk: Desk) -> None:
    """A request that was there before the client was accepted is answered before anybody else's."""
    wire = Wire()
    wire.arrived.append(heartbeats(2))
    desk.client(wire)
    assert wire.answers == [0, 1]
    assert desk.is_read(wire)


# Clients that read slowly


def test_a_client_that_does_not_read_gets_no_turn(desk: Desk) -> None:
    """While answers are unsent no request is taken up, and nothing is read from it; then it goes on."""
    _, wire = desk.client()
    wire.room_bytes = 10
    desk.arrive(wire, heartbeats(100))
    for _ in range(3):
        desk.turn_loop()
    desk.arrive(wire, heartbeats(10, 100))
    assert len(b"".join(wire.writes)) == 10
    assert not desk.is_read(wire)

    desk.make_room(wire, 100)  # not enough
    assert not desk.is_read(wire)
    assert wire.fileno() in desk.watched.writers
    desk.make_room(wire)
    assert len(wire.answers) == 64
    desk.turn_loop()
    desk.arrive(wire)
    assert wire.answers == list(range(110))
    assert not desk.watched.writers


@pytest.mark.parametrize("step", [1, 7, 33])
def test_any_part_of_a_write_may_be_taken(desk: Desk, step: int) -> None:
    """However few bytes the socket takes at a time, each byte goes out once and in order."""
    _, wire = desk.client()
    wire.room_bytes = step
    desk.arrive(wire, heartbeats(30))
    while wire.fileno() in desk.watched.writers:
        desk.make_room(wire, step)
    assert max(map(len, wire.writes)) == step
    assert wire.answers == list(range(30))
    assert desk.is_read(wire)


def test_a_late_answer_waits_for_what_is_unsent(desk: Desk) -> None:
    """What a timer answers comes after the answers that the client has not taken yet."""
    desk.lab.cluster.topics.create("t", 1, 1, {})
    _, wire = desk.client()
    wire.room_bytes = 10
    desk.arrive(wire, heartbeats(2) + long_poll(100, correlation_id=2))
    desk.server.clock.advance(100, timers=True)
    desk.make_room(wire)
    assert wire.answers == [0, 1, 2]


def test_a_parked_client_that_goes_on_sending_is_not_read(slow_desk: Desk) -> None:
    """Behind a parked request a quarter of a megabyte may wait; then we stop reading until it is answered."""
    _, wire = slow_desk.client()
    slow_desk.arrive(wire, request("JoinGroup", 3, 900, **JOIN))
    chunk = heartbeats(1000)
    for _ in range(MAX_WAITING_BYTES // len(chunk)):
        slow_desk.arrive(wire, chunk)
        assert slow_desk.is_read(wire)
    slow_desk.arrive(wire, chunk)
    assert not slow_desk.is_read(wire)

    slow_desk.server.clock.advance(3_000, timers=True)
    for _ in range(200):
        slow_desk.turn_loop()
    assert slow_desk.is_read(wire)
    assert wire.answers[:3] == [900, 0, 1]
    assert len(wire.answers) == 1 + 1000 * (MAX_WAITING_BYTES // len(chunk) + 1)


BATCHES = [build_batch([Record(0, 1_700_000_000_000, None, b"v" * size)]) for size in (300_000, 90_000, 200_000, 100)]
SHARE_BYTES = 50_000  # that a slow reader takes at a time


def ask_for_all(desk: Desk) -> tuple[ClientConnection, Wire, bytes]:
    """A client whose socket takes a share; it asks for all batches. Also the records as they are stored."""
    log = desk.lab.cluster.topics.create("t", 1, 1, {"retention.ms": "-1"}).partitions[0].log
    for batch in BATCHES:
        log.append(batch, desk.lab.engine.now)
    client, wire = desk.client()
    wire.room_bytes = SHARE_BYTES
    row = (0, -1, 0, -1, -1, 1 << 20, bytes(16), 0)
    desk.arrive(wire, request("Fetch", 11, session_epoch=-1, topics=[FetchTopic(topic="t", partitions=[row])]))
    return client, wire, b"".join(log.batches())


def read_all(desk: Desk, wire: Wire) -> None:
    while wire.fileno() in desk.watched.writers:
        desk.make_room(wire, SHARE_BYTES)


def test_a_slow_reader_costs_no_copy(desk: Desk) -> None:
    """What a large answer has unsent are the batches as they are stored; in the end all has come."""
    client, wire, stored = ask_for_all(desk)
    log = partition(desk.lab.cluster).log
    assert len(b"".join(wire.writes)) == SHARE_BYTES
    assert not desk.is_read(wire)
    assert client._unsent is not None
    kept = {id(each.obj if isinstance(each, memoryview) else each) for each in client._unsent}
    assert {id(batch) for batch in log.batches()} <= kept
    read_all(desk, wire)
    assert stored in b"".join(wire.writes)
    assert len(wire.answers) == 1
    assert desk.is_read(wire)


# The end


def test_a_fault_closes_after_the_answers_before_it(desk: Desk) -> None:
    """What was answered is sent, then the connection is closed, and nothing more is read."""
    _, wire = desk.client()
    desk.arrive(wire, heartbeats(2) + framed(b""))
    assert wire.answers == [0, 1]
    assert wire.is_closed
    desk.turn_loop()
    assert len(desk.lab.engine.connections) == 0


def test_requests_before_the_end_are_answered(desk: Desk) -> None:
    """A client that sends its requests and its end in one go gets all its answers; then we close."""
    _, wire = desk.client()
    desk.arrive(wire, heartbeats(150), b"")
    assert not wire.is_closed
    for _ in range(3):
        desk.turn_loop()
    assert len(wire.answers) == 150
    assert wire.is_closed
    desk.turn_loop()
    assert desk.reasons() == ["the client closed the connection"]


@pytest.mark.parametrize("requests", [0, 1])
def test_the_end_of_an_idle_client_closes_at_once(desk: Desk, requests: int) -> None:
    """There is nothing left to do, whether it has ever said anything or not."""
    client, wire = desk.client()
    desk.arrive(wire, heartbeats(requests)) if requests else None
    desk.arrive(wire, b"")
    assert wire.is_closed
    assert client._state is CLOSED
    assert desk.reasons() == ["the client closed the connection"]


@pytest.mark.parametrize("how", ["fault", "end"])
def test_a_slow_reader_gets_everything_before_the_end(desk: Desk, how: str) -> None:
    """A fault, or the client's own end, closes after the last piece."""
    _, wire, stored = ask_for_all(desk)
    desk.arrive(wire, framed(b"") if how == "fault" else b"")
    assert not wire.is_closed
    read_all(desk, wire)
    desk.arrive(wire)
    assert wire.is_closed
    assert stored in b"".join(wire.writes)


def test_a_slow_reader_that_leaves_costs_nothing(desk: Desk) -> None:
    """What it has not read is forgotten."""
    client, wire, _ = ask_for_all(desk)
    wire.is_broken = True
    desk.make_room(wire)
    assert not client._unsent
    assert wire.is_closed
    desk.turn_loop()
    assert desk.reasons() == ["connection lost: broken pipe"]


def test_a_socket_that_fails_amid_a_turn(desk: Desk) -> None:
    """An answer that cannot be sent ends the connection, once, and after the flush that met it."""
    client, wire = desk.client()
    wire.is_broken = True
    desk.arrive(wire, heartbeats(100))
    assert wire.is_closed
    assert desk.reasons() == []
    for _ in range(2):
        desk.turn_loop()
    assert desk.reasons() == ["connection lost: broken pipe"]
    assert client._state is CLOSED


def test_a_read_that_fails(desk: Desk) -> None:
    """A reset ends the connection and what it waited for, and others have the consequences at once."""
    desk.lab.cluster.topics.create("t", 1, 1, {})
    _, wire = desk.client()
    desk.arrive(wire, long_poll(60_000), ConnectionResetError("reset"))
    assert wire.is_closed
    assert desk.reasons() == ["connection lost: reset"]
    desk.server.clock.advance(60_000, timers=True)
    assert wire.writes == []


def test_nothing_is_written_after_the_client_has_left(slow_desk: Desk) -> None:
    """The late answer of a client that is gone goes nowhere."""
    _, wire = slow_desk.client()
    slow_desk.arrive(wire, request("JoinGroup", 3, **JOIN), b"")
    assert wire.is_closed
    slow_desk.server.clock.advance(60_000, timers=True)
    assert wire.writes == []


def test_an_abort_while_an_end_is_under_way(desk: Desk) -> None:
    """A stop that comes between a failed write and the loop's next round ends the connection once."""
    client, wire = desk.client()
    wire.is_broken = True
    desk.arrive(wire, heartbeats(1))
    client.abort("stopped")
    desk.turn_loop()
    assert desk.reasons() == ["stopped"]


# Connections to which nothing gets through


def test_what_waits_is_bounded_and_arrives_in_order(desk: Desk) -> None:
    """While nothing gets through, what comes is kept, up to a bound; then it is served in order."""
    client, wire = desk.client()
    client.block()
    data = heartbeats(MAX_WAITING_BYTES // len(heartbeats(1)) + 1)
    desk.arrive(wire, data, heartbeats(1, 900_000))
    assert not desk.is_read(wire)
    assert wire.writes == []
    client.release()
    desk.server.flush()
    while not desk.is_read(wire) or len(wire.arrived):
        desk.turn_loop()
        desk.arrive(wire)
    for _ in range(200):
        desk.turn_loop()
    assert wire.answers == [*range(len(data) // len(heartbeats(1))), 900_000]


@pytest.mark.parametrize("requests", [0, 3])
def test_an_end_that_nobody_hears_yet(desk: Desk, requests: int) -> None:
    """While nothing gets through, an end does not either; then what was sent before it is answered, and we close."""
    client, wire = desk.client()
    client.block()
    desk.arrive(wire, *([heartbeats(requests)] if requests else []), b"")
    assert not wire.is_closed
    client.release()
    assert wire.answers == list(range(requests))
    assert wire.is_closed


def test_what_was_unsent_does_not_get_through_either(desk: Desk) -> None:
    """Room in the socket does not help while nothing gets through; then the rest goes out."""
    client, wire = desk.client()
    wire.room_bytes = 10
    desk.arrive(wire, heartbeats(3))
    client.block()
    desk.make_room(wire)
    assert len(b"".join(wire.writes)) == 10
    client.release()
    assert wire.answers == [0, 1, 2]
    assert desk.is_read(wire)


# The rest


def test_a_client_is_known_by_its_address(desk: Desk) -> None:
    """As Kafka writes it, with a slash; an IPv4 client on an IPv6 socket is an IPv4 client."""
    client, _ = desk.client(Wire(("::ffff:10.0.0.1", 9092, 0, 0)), "::ffff:10.0.0.7")
    connection = client._connection
    assert (connection.peer.client_host, connection.local_address.host) == ("/10.0.0.7", "10.0.0.1")


def test_small_answers_do_not_wait(desk: Desk) -> None:
    """Nagle's algorithm is off, as in Kafka: an answer leaves although the one before is not acknowledged."""
    _, wire = desk.client()
    assert (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1) in wire.options


def test_another_engine_takes_over(desk: Desk) -> None:
    """`use` disconnects everybody; who comes back meets the new engine."""
    _, wire = desk.client()
    fresh = SimEngine(listeners=list(desk.lab.engine.listeners))
    desk.server.use(fresh.engine)
    assert wire.is_closed
    desk.client()
    assert len(fresh.engine.connections) == 1
    assert desk.lab.engine.connections == {}
