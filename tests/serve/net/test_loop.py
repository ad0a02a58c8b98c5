"""Requests are taken up in the order in which they came, as far as a selector can tell."""

import asyncio
import select
import selectors
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from fakebroker.protocol.wire.frame import encode_request
from fakebroker.protocol.wire.framing import with_length
from fakebroker.protocol.wire.messages.api_versions import ApiVersionsRequest
from fakebroker.serve.net.loop import SocketLoop, SocketSelector, new_event_loop, watcher_of
from fakebroker.serve.net.server import Server
from fakebroker.testing.broker import AsyncFakeBroker, FakeBroker

pytestmark = pytest.mark.skipif(not hasattr(select, "epoll"), reason="only epoll tells the order of arrival")


Pairs = list[tuple[socket.socket, socket.socket]]


@pytest.fixture
def pairs() -> Iterator[Pairs]:
    """Three connections: our end, the other end."""
    made = [socket.socketpair() for _ in range(3)]
    yield made
    for pair in made:
        for end in pair:
            end.close()


@pytest.fixture
def selector() -> Iterator[SocketSelector]:
    """A selector whose callbacks must not raise."""
    with SocketSelector() as selector:
        selector.on_error = lambda error: pytest.fail(repr(error))
        yield selector


class Reader:
    """Reads one of the pairs' ends when it is called, at most `max_bytes` at a time, and notes what it read."""

    def __init__(
        self, selector: SocketSelector, ours: socket.socket, log: list[tuple[int, bytes]], max_bytes: int = 100
    ) -> None:
        ours.setblocking(False)
        self.ours, self.log, self.max_bytes, self.selector = ours, log, max_bytes, selector
        selector.add_reader(ours.fileno(), self)

    def __call__(self) -> None:
        data = self.ours.recv(self.max_bytes)
        self.log.append((self.ours.fileno(), data))
        if not data:
            self.selector.remove_reader(self.ours.fileno())
        elif len(data) == self.max_bytes:
            self.selector.add_reader(self.ours.fileno(), self)


def test_sockets_are_served_in_the_order_of_arrival(selector: SocketSelector, pairs: Pairs) -> None:
    """Whatever was served the last time: what came first comes first."""
    log: list[tuple[int, bytes]] = []
    fds = [Reader(selector, ours, log).ours.fileno() for ours, _ in pairs]
    pairs[0][1].send(b"1")
    assert selector.select(1) == []
    for index in (2, 0, 1):
        pairs[index][1].send(b"2")
    assert selector.select(1) == []
    assert log == [(fds[0], b"1"), (fds[2], b"2"), (fds[0], b"2"), (fds[1], b"2")]
    assert selector.select(0) == []
    assert len(log) == 4, "nothing is reported twice"


def test_who_asks_again_is_called_after_the_others(selector: SocketSelector, pairs: Pairs) -> None:
    """A client that sent much takes its share, then the others have theirs."""
    log: list[tuple[int, bytes]] = []
    fds = [Reader(selector, ours, log, max_bytes=2).ours.fileno() for ours, _ in pairs[:2]]
    pairs[0][1].send(b"abcde")
    pairs[1][1].send(b"x")
    for _ in range(3):
        selector.select(0)
    assert log == [(fds[0], b"ab"), (fds[1], b"x"), (fds[0], b"cd"), (fds[0], b"e")]


@pytest.mark.parametrize("how", ["close", "shutdown"])
@pytest.mark.parametrize("data", [b"", b"abc", b"abcd"])
def test_an_end_is_reported_whatever_came_before_it(
    selector: SocketSelector, pairs: Pairs, data: bytes, how: str
) -> None:
    """Data and the end that arrive together are one edge; the end is read nevertheless."""
    log: list[tuple[int, bytes]] = []
    reader = Reader(selector, pairs[0][0], log, max_bytes=2)
    pairs[0][1].send(data)
    if how == "close":
        pairs[0][1].close()
    else:
        pairs[0][1].shutdown(socket.SHUT_WR)
    for _ in range(4):
        selector.select(0)
    assert b"".join(part for _, part in log) == data
    assert [part for _, part in log].count(b"") == 1
    assert reader.ours.fileno() not in selector._readers


def test_who_begins_to_read_late_misses_nothing(selector: SocketSelector, pairs: Pairs) -> None:
    """Data that came while nobody was to be called, or before, is reported when somebody is."""
    log: list[tuple[int, bytes]] = []
    ours, theirs = pairs[0]
    theirs.send(b"1")
    reader = Reader(selector, ours, log)
    selector.select(1)
    selector.remove_reader(ours.fileno())
    theirs.send(b"2")
    selector.select(0)
    assert [data for _, data in log] == [b"1"]
    selector.add_reader(ours.fileno(), reader)
    selector.select(1)
    assert [data for _, data in log] == [b"1", b"2"]


@pytest.mark.parametrize("is_early", [True, False])
def test_an_end_is_seen_without_reading(selector: SocketSelector, pairs: Pairs, is_early: bool) -> None:
    """Data in front of it is left alone; nobody is called before the end, nor after the watch is over."""
    ends = list[int]()
    ours, theirs = pairs[0]
    theirs.send(b"data")
    if is_early:
        theirs.close()
    selector.add_ender(ours.fileno(), lambda: ends.append(ours.fileno()))
    selector.select(0)
    assert len(ends) == is_early
    theirs.close()
    selector.select(1)
    assert ends == [ours.fileno()]
    assert ours.recv(10) == b"data"
    selector.remove_ender(ours.fileno())
    selector.select(0)
    assert len(ends) == 1


def until_blocked(act: Callable[[], object]) -> None:
    """Do it again and again until it would block."""
    with suppress(BlockingIOError):
        while True:
            act()


def test_room_is_reported_when_there_is_some(selector: SocketSelector, pairs: Pairs) -> None:
    """Who waits for room is called when the other side has read, and not before; then no more."""
    ours, theirs = pairs[0]
    ours.setblocking(False)
    calls: list[str] = []
    until_blocked(lambda: ours.send(bytes(10_000)))
    selector.add_reader(ours.fileno(), lambda: calls.append("read"))
    selector.add_writer(ours.fileno(), lambda: calls.append("write"))
    selector.select(0)
    assert calls == []
    theirs.setblocking(False)
    until_blocked(lambda: theirs.recv(100_000))
    selector.select(1)
    selector.remove_writer(ours.fileno())
    theirs.send(b"x")
    selector.select(1)
    assert calls == ["write", "read"]


def test_a_lost_connection_is_reported_to_who_waits_for_room(selector: SocketSelector, pairs: Pairs) -> None:
    """The other side is gone: a writer hears of it, as it would of room, and finds out by writing."""
    calls: list[str] = []
    ours, theirs = pairs[0]
    ours.setblocking(False)
    until_blocked(lambda: ours.send(bytes(10_000)))
    selector.add_writer(ours.fileno(), lambda: calls.append("write"))
    theirs.close()
    selector.select(1)
    assert calls == ["write"]


def test_one_may_close_another(selector: SocketSelector, pairs: Pairs) -> None:
    """A socket that was closed by one that is served before it is not served, though it was ready, too."""
    first, second = pairs[0][0], pairs[1][0]

    def close_second() -> None:
        first.recv(1)
        selector.remove_reader(second.fileno())
        second.close()

    selector.add_reader(first.fileno(), close_second)
    selector.add_reader(second.fileno(), lambda: pytest.fail("it is closed"))
    pairs[0][1].send(b"x")
    pairs[1][1].send(b"x")
    assert selector.select(1) == []


def test_the_loops_own_sockets_are_reported(selector: SocketSelector, pairs: Pairs) -> None:
    """What asyncio has registered is returned to it, level-triggered, in the same wait."""
    log: list[tuple[int, bytes]] = []
    Reader(selector, pairs[0][0], log)
    selector.register(pairs[1][0].fileno(), selectors.EVENT_READ)
    pairs[0][1].send(b"x")
    pairs[1][1].send(b"x")
    for _ in range(2):
        assert [(key.fd, events) for key, events in selector.select(1)] == [(pairs[1][0].fileno(), 1)]
    assert len(log) == 1


@pytest.mark.parametrize("is_end", [False, True])
def test_an_error_of_one_harms_nobody_else(selector: SocketSelector, pairs: Pairs, is_end: bool) -> None:
    """What a callback raises is reported, and the next is served."""
    errors: list[Exception] = []
    selector.on_error = errors.append
    log: list[tuple[int, bytes]] = []

    def fail() -> None:
        pairs[0][0].recv(10)
        raise ValueError("a bug")

    selector.add_reader(pairs[0][0].fileno(), fail)
    Reader(selector, pairs[1][0], log)
    pairs[0][1].send(b"x")
    if is_end:
        pairs[0][1].close()
    pairs[1][1].send(b"x")
    selector.select(1)
    assert [repr(error) for error in errors] == ["ValueError('a bug')"]
    assert len(log) == 1


def test_errors_go_to_the_loops_handler(pairs: Pairs) -> None:
    """As what a callback of asyncio's own raises."""
    loop = new_event_loop()
    assert isinstance(loop, SocketLoop)
    reported: list[dict[str, Any]] = []

    def fail() -> None:
        loop.sockets.remove_reader(pairs[0][0].fileno())
        loop.stop()
        raise ValueError("a bug")

    try:
        loop.set_exception_handler(lambda _, context: reported.append(context))
        watcher_of(loop).add_reader(pairs[0][0].fileno(), fail)
        pairs[0][1].send(b"x")
        loop.run_forever()
    finally:
        loop.close()
    assert [repr(context["exception"]) for context in reported] == ["ValueError('a bug')"]


def test_another_loop_watches_by_itself() -> None:
    """In a loop that is not ours sockets are watched with its own add_reader."""
    loop = asyncio.SelectorEventLoop()
    assert watcher_of(loop) is loop
    loop.close()


def read_answer(sock: socket.socket) -> None:
    with sock.makefile("rb") as stream:
        stream.read(int.from_bytes(stream.read(4), "big"))


def test_a_new_client_is_served_before_a_later_request_of_another() -> None:
    """A client that connects and asks comes before one that was connected and asks after it, however busy we are."""
    frame = with_length(encode_request(ApiVersionsRequest(), 0, 1, "c"))
    with FakeBroker() as broker:
        host, _, port = broker.bootstrap.rpartition(":")
        with socket.create_connection((host, int(port))) as old:
            old.sendall(frame)
            read_answer(old)

            new = socket.socket()
            new.close()

            def ask_both() -> None:  # on the broker's own thread, so that it cannot look before both have asked
                nonlocal new
                new = socket.create_connection((host, int(port)))
                new.sendall(frame)
                old.sendall(frame)

            broker._call(ask_both)
            with new:
                read_answer(new)
                read_answer(old)

        connections = [exchange.peer.connection_id for exchange in broker.journal.requests()]
    assert connections == [1, 2, 1]


def test_a_failed_start_leaves_nothing_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next start in the same loop gets sockets of the same numbers, and clients are taken up there."""
    broker = AsyncFakeBroker(nodes=2)
    accept_at = Server._accept_index

    def only_first(server: Server, place: int) -> None:
        if place:
            raise RuntimeError("no second listener")
        accept_at(server, place)

    async def play() -> None:
        monkeypatch.setattr(Server, "_accept_index", only_first)
        with pytest.raises(RuntimeError, match="no second"):
            await broker.start()
        monkeypatch.undo()
        async with broker:
            for address in broker.bootstrap.split(","):
                _, writer = await asyncio.open_connection(*address.split(":"))
                writer.close()

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(play())
