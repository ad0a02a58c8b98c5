"""Very many clients that send together: timers, long work and the other clients have their turn between them."""

import select
import selectors
import socket
from collections import deque
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from fakebroker.protocol.pace import STEP_S
from fakebroker.serve.net import loop, server
from fakebroker.serve.net.loop import FEW, FewAtOnce, SocketSelector, tell_no_more, tell_when_late
from fakebroker.serve.net.ports import Ports
from fakebroker.serve.net.server import Server
from tests.support.engine import SimEngine
from tests.support.frames import frames, request

needs_epoll = pytest.mark.skipif(not hasattr(select, "epoll"), reason="another loop watches by itself")

PAIRS = 5


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.s = 100.0

    def __call__(self) -> float:
        return self.s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(loop, "monotonic", clock, raising=False)
    monkeypatch.setattr(server, "monotonic", clock)
    return clock


class Sockets:
    """Connections whose requests take longer than a step each, in a selector; it notes who was served."""

    def __init__(self, clock: Clock) -> None:
        self.selector = SocketSelector()
        self.selector.on_error = lambda error: pytest.fail(repr(error))
        self.is_late: list[bool] = []
        tell_when_late(self.selector, self.is_late.append)
        self.pairs = [socket.socketpair() for _ in range(PAIRS)]
        self.served: list[int] = []
        self._clock = clock
        for index, (ours, _) in enumerate(self.pairs):
            ours.setblocking(False)
            self.selector.add_reader(ours.fileno(), self.reader(index))

    def reader(self, index: int) -> Callable[[], None]:
        def read() -> None:
            self.pairs[index][0].recv(100)
            self.served.append(index)
            self._clock.s += 2 * STEP_S

        return read

    def send(self, *indexes: int) -> None:
        for index in indexes:
            self.pairs[index][1].send(b"x")

    def close(self) -> None:
        self.selector.close()
        for pair in self.pairs:
            for end in pair:
                end.close()


@pytest.fixture
def sockets(clock: Clock) -> Iterator[Sockets]:
    made = Sockets(clock)
    yield made
    made.close()


@needs_epoll
def test_one_wait_serves_no_more_than_a_step(sockets: Sockets) -> None:
    """The others are served by the next waits, which do not wait; those that come meanwhile are after them."""
    sockets.send(3, 0, 4)
    assert sockets.selector.select(1) == []
    assert sockets.served == [3]
    sockets.send(1, 3)
    for _ in range(4):
        sockets.selector.select(None)  # without end, if there were nothing
    assert sockets.served == [3, 0, 4, 1, 3]
    assert sockets.is_late == [True, False]
    assert sockets.selector.select(0) == []
    assert len(sockets.served) == 5, "nothing is reported twice"


@needs_epoll
def test_nobody_is_late_when_those_who_wait_are_gone(sockets: Sockets) -> None:
    """Each broker of a loop hears of it, as long as it is served there."""
    others, left = list[bool](), list[bool]()
    tell_when_late(sockets.selector, others.append)
    tell_when_late(sockets.selector, left.append)
    tell_no_more(sockets.selector, left.append)
    sockets.send(0, 1, 2)
    sockets.selector.select(1)
    assert sockets.is_late == [True]
    for index in (1, 2):
        sockets.selector.remove_reader(sockets.pairs[index][0].fileno())

    assert sockets.is_late == others == [True, False]
    assert left == []


@needs_epoll
def test_the_loops_own_sockets_do_not_wait_for_them(sockets: Sockets) -> None:
    """What asyncio has registered, such as its wake-up by another thread, is reported at the next call."""
    own, other = socket.socketpair()
    with own, other:
        sockets.selector.register(own.fileno(), selectors.EVENT_READ)
        sockets.send(*range(PAIRS))
        other.send(b"x")
        sockets.selector.select(1)
        assert [key.fd for key, _ in sockets.selector.select(1)] == [own.fileno()]
        assert sockets.served == [0, 1]


@needs_epoll
def test_who_is_closed_meanwhile_is_forgotten(sockets: Sockets) -> None:
    """Its number may be that of another connection by then, which has not ended."""
    sockets.send(*range(PAIRS))
    sockets.pairs[2][1].close()
    sockets.selector.select(1)
    ours = sockets.pairs[2][0]
    fd = ours.fileno()
    sockets.selector.remove_reader(fd)
    ours.close()
    new, other = socket.socketpair()
    assert new.fileno() == fd
    with new, other:
        sockets.selector.add_ender(fd, lambda: pytest.fail("it has not ended"))
        for _ in range(PAIRS):
            sockets.selector.select(0)
        sockets.selector.remove_ender(fd)
    assert sockets.served == [0, 1, 3, 4]


@needs_epoll
def test_who_ends_while_it_waits_is_heard_to_the_end(sockets: Sockets) -> None:
    """Data and the end that came after it are reported as one."""
    ends = list[bytes]()
    ours, theirs = sockets.pairs[1]

    def read() -> None:
        ends.append(ours.recv(100))
        if not ends[-1]:
            sockets.selector.remove_reader(ours.fileno())

    sockets.selector.add_reader(ours.fileno(), read)
    sockets.send(0, 1)
    sockets.selector.select(1)
    theirs.close()
    for _ in range(3):
        sockets.selector.select(0)
    assert ends == [b"x", b""]


def test_without_epoll_few_are_named_at_once() -> None:
    """The others are named by the next waits, before those that become ready meanwhile."""
    with FewAtOnce() as selector:
        pairs = [socket.socketpair() for _ in range(2 * FEW + 3)]
        fds = [ours.fileno() for ours, _ in pairs]
        for ours, theirs in pairs:
            selector.register(ours, selectors.EVENT_READ)
            theirs.send(b"x")
        named = list[list[int]]()
        for count in (FEW, FEW, 3):
            ready = selector.select(None)
            named.append([key.fd for key, _ in ready])
            assert len(ready) == count
            for key, _ in ready:
                socket.socket.recv(key.fileobj, 1)  # type: ignore[arg-type]
            pairs[fds.index(named[0][0])][1].send(b"y")
        assert sorted(fd for each in named for fd in each) == sorted(fds)
        assert [key.fd for key, _ in selector.select(None)] == [named[0][0]]
        for pair in pairs:
            for end in pair:
                end.close()


def test_without_epoll_what_is_not_watched_any_more_is_not_named() -> None:
    """It was ready, and was closed or waits for something else when its turn comes."""
    with FewAtOnce() as selector:
        pairs = [socket.socketpair() for _ in range(FEW + 3)]
        for ours, theirs in pairs:
            selector.register(ours, selectors.EVENT_READ)
            theirs.send(b"x")
        first = [key.fileobj for key, _ in selector.select(None)]
        gone, other, still = [ours for ours, _ in pairs if ours not in first]
        selector.unregister(gone)
        selector.modify(other, selectors.EVENT_WRITE)
        assert [key.fileobj for key, _ in selector.select(None)] == [still]
        for pair in pairs:
            for end in pair:
                end.close()


class Loop:
    """What the server asks of a loop; the test runs the rounds."""

    def __init__(self) -> None:
        self.ready: deque[Callable[[], None]] = deque()
        self.call_soon = self.ready.append

    def round(self) -> None:
        for _ in range(len(self.ready)):
            self.ready.popleft()()


def bare_server() -> tuple[Any, Loop]:
    made: Any = Server(Ports([]))
    made._loop = loop = Loop()
    return made, loop


def test_later_turns_of_many_clients_are_divided(clock: Clock) -> None:
    """The turns of clients that sent more than one turn takes up are no longer than a step together, in each round."""
    made, loop = bare_server()
    log: list[object] = []

    def turn(name: str) -> Callable[[], None]:
        def take() -> None:
            log.append(name)
            clock.s += STEP_S * 0.6
            if name == "b":
                raise ValueError("a bug")

        return take

    for name in "abcdef":
        made.take_later(turn(name))
    rounds = list[list[object]]()
    while loop.ready:
        try:
            loop.round()
        except ValueError as error:
            log.append(str(error))
        rounds.append(log[:])
        log.clear()
    assert rounds == [["a", "b", "a bug"], ["c", "d"], ["e", "f"]]


def test_accepting_many_clients_is_divided(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them may have sent something that takes long; the rest is accepted when the others have been served."""
    made, _ = bare_server()
    accepted, again = list[int](), list[object]()
    count = iter(range(1000))
    bound: Any = SimpleNamespace(accept=lambda: (next(count), ("127.0.0.1", 1)))

    def take_up(number: int, *_: object) -> None:
        accepted.append(number)
        clock.s += STEP_S * 0.6

    monkeypatch.setattr(made, "_take_up", take_up)
    monkeypatch.setattr(made, "_accept_on", lambda *given: again.append(given))
    made._accept(bound, None)
    assert (accepted, len(again)) == ([0, 1], 1)


@pytest.mark.parametrize(("is_late", "expected"), [(False, 40), (True, 2)])
def test_turns_are_short_while_others_wait(is_late: bool, expected: int) -> None:
    """A client that sends many requests has one or two answered, then those that wait have their turns."""
    lab = SimEngine()
    made, _ = bare_server()
    made.engine = lab.engine
    made._set_late(is_late)
    clock = Clock()

    def stopwatch() -> float:
        clock.s += STEP_S / 1000
        return clock.s

    lab.cluster.timers.passes.stopwatch = stopwatch
    connection = lab.bare_connection()
    connection.receive(request("ApiVersions", 0) * 40, lab.network.now)
    assert len(frames(b"".join(connection.data_to_send()))) == expected
    made._set_late(False)
    connection.resume(lab.network.now)
    assert len(frames(b"".join(connection.data_to_send()))) == 40 - expected
