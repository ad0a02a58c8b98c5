"""The event loop of brokers that have a loop of their own: their sockets are read inside the selector's wait.

asyncio's own way costs a broker dear: each time data arrives it makes an entry for the socket, puts a handle into the
loop's queue, runs it, and has a transport read. `SocketSelector` calls the client at the moment in which epoll names
its socket. Everything else in the loop (timers, `call_soon`, asyncio's own sockets) goes its usual way.

It also reads sockets in the order in which data arrived. Level-triggered, epoll appends every socket that it reports to
its ready list again, before those that become ready later. Suppose client A has just been answered, then B sends a
request, then A sends its next one, and one call of epoll finds both: A, still on the list, comes first, although B's
request is the older one. Edge-triggered, a socket is put on the list when data arrives and at no other time. In a group
the order of requests decides who joins first, who leads and which rebalance follows, so a test that sends B's request
first would see another course each time. This order is a promise of ours (tests should repeat), not a behaviour of
Kafka: there three network threads (num.network.threads) read from sockets without any order among them.

Of very many sockets that are ready together, those that are not served within STEP_S have their turn in later calls,
before all that becomes ready meanwhile. The timers and the long work of the loop go on in between.
"""

import asyncio
import select
import selectors
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from time import monotonic
from typing import Protocol

from fakebroker.platform.sockets import HAS_EPOLL
from fakebroker.protocol.pace import STEP_S

FEW = 8  # sockets


class SocketWatcher(Protocol):
    """Who calls when sockets, given by their file descriptors, are ready: an asyncio loop, or our selector.

    A callback may be called in vain. It need not take everything that a socket has, if it then calls `add_reader`
    again: that makes sure that it is called once more if there is something left. Whoever closes a socket removes it
    here before.
    """

    def add_reader(self, fd: int, callback: Callable[[], None], /) -> object:
        """Call `callback` when something can be read, or has ended; in place of an earlier callback."""

    def remove_reader(self, fd: int, /) -> object:
        """Do not call any more for this; nothing happens if nobody was to be called."""

    def add_writer(self, fd: int, callback: Callable[[], None], /) -> object:
        """Call `callback` when something can be written; in place of an earlier callback."""

    def remove_writer(self, fd: int, /) -> object:
        """Do not call any more for this; nothing happens if nobody was to be called."""


def watch_for_end(watcher: SocketWatcher, fd: int, callback: Callable[[], None]) -> None:
    """Call `callback` when the other side of a socket closes it, although nothing is read from it. If that was already
    so, it is called, too. A loop that is not ours cannot tell.
    """
    if HAS_EPOLL and isinstance(watcher, SocketSelector):
        watcher.add_ender(fd, callback)


def end_watch_for_end(watcher: SocketWatcher, fd: int) -> None:
    """Do not call any more for this; nothing happens if it was not watched."""
    if HAS_EPOLL and isinstance(watcher, SocketSelector):
        watcher.remove_ender(fd)


def tell_when_late(watcher: SocketWatcher, on_late: Callable[[bool], None]) -> None:
    """Call `on_late` when sockets that are ready have to wait for others, and when none does any more. A loop that is
    not ours cannot tell.
    """
    if HAS_EPOLL and isinstance(watcher, SocketSelector):
        watcher.tell_late[on_late] = None


def tell_no_more(watcher: SocketWatcher, on_late: Callable[[bool], None]) -> None:
    """The opposite of `tell_when_late`."""
    if HAS_EPOLL and isinstance(watcher, SocketSelector):
        watcher.tell_late.pop(on_late, None)


def new_event_loop() -> asyncio.AbstractEventLoop:
    """A loop for one broker. Without epoll (not Linux) it is the platform's own, without an order of arrival."""
    return SocketLoop() if HAS_EPOLL else asyncio.SelectorEventLoop(FewAtOnce())


def watcher_of(loop: asyncio.AbstractEventLoop) -> SocketWatcher:
    """Who watches a broker's sockets in this loop: its selector in a loop of ours, the loop itself in another's."""
    if HAS_EPOLL and isinstance(loop, SocketLoop):
        return loop.sockets
    return loop


class FewAtOnce(selectors.DefaultSelector):
    """The platform's selector for a loop of ours without epoll: of many sockets that are ready it names few at a time,
    so that timers and long work go on in between. Those that become ready meanwhile come after them.
    """

    def __init__(self) -> None:
        super().__init__()
        self._waiting: deque[tuple[int, int]] = deque()  # file descriptors that were ready, and their events

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait at most `timeout` seconds (None: without end), unless ready sockets were not named yet. Returns the
        next of them with their events; none of a socket that is not watched for them any more.
        """
        waiting = self._waiting
        if not waiting:
            waiting.extend((key.fd, events) for key, events in super().select(timeout))
        few = [waiting.popleft() for _ in range(min(FEW, len(waiting)))]
        keys = self.get_map()
        known = [(key, key.events & events) for fd, events in few if (key := keys.get(fd)) is not None]
        return [(key, events) for key, events in known if events]


if HAS_EPOLL:
    READABLE, WRITABLE, HUNG_UP = select.EPOLLIN, select.EPOLLOUT, select.EPOLLRDHUP
    LOST = select.EPOLLERR | select.EPOLLHUP  # always reported, whatever is watched for

    class SocketSelector(selectors.EpollSelector):
        """A selector that serves the sockets of a broker by itself, edge-triggered, while it waits for the others.

        The others, asyncio's own, stay in the epoll of `EpollSelector`, and that is one of the descriptors watched
        here: so there is one system call for each wait, unless one of asyncio's sockets is ready.
        """

        def __init__(self) -> None:
            super().__init__()
            self.on_error: Callable[[Exception], None]  # gets what a callback raised
            self.tell_late: dict[Callable[[bool], None], None] = {}  # see `tell_when_late`; a broker's each
            self._is_late = False
            self._waiting: OrderedDict[int, int] = OrderedDict()  # ready sockets for the next call, with their events
            self._readers: dict[int, Callable[[], None]] = {}  # by file descriptor, as the next two
            self._writers: dict[int, Callable[[], None]] = {}
            self._enders: dict[int, Callable[[], None]] = {}
            self._epoll = select.epoll()
            self._others_fd = self.fileno()
            self._epoll.register(self._others_fd, READABLE)

        def add_reader(self, fd: int, callback: Callable[[], None], /) -> None:
            """See SocketWatcher."""
            self._add(self._readers, fd, callback)

        def remove_reader(self, fd: int, /) -> None:
            """See SocketWatcher."""
            if self._readers.pop(fd, None) is not None:
                self._watch(fd, is_known=True)

        def add_writer(self, fd: int, callback: Callable[[], None], /) -> None:
            """See SocketWatcher."""
            self._add(self._writers, fd, callback)

        def remove_writer(self, fd: int, /) -> None:
            """See SocketWatcher."""
            if self._writers.pop(fd, None) is not None:
                self._watch(fd, is_known=True)

        def add_ender(self, fd: int, callback: Callable[[], None]) -> None:
            """See `watch_for_end`."""
            self._add(self._enders, fd, callback)

        def remove_ender(self, fd: int) -> None:
            """See `end_watch_for_end`."""
            if self._enders.pop(fd, None) is not None:
                self._watch(fd, is_known=True)

        def _add(self, callbacks: dict[int, Callable[[], None]], fd: int, callback: Callable[[], None]) -> None:
            is_known = fd in self._readers or fd in self._writers or fd in self._enders
            callbacks[fd] = callback
            self._watch(fd, is_known)

        def _watch(self, fd: int, is_known: bool) -> None:
            """Have epoll watch for what is wanted of a socket now.

            What can be read or written at this moment is reported too, as if it had just arrived: a change of what is
            watched for loses nothing.
            """
            events = READABLE | HUNG_UP if fd in self._readers else 0
            if fd in self._writers:
                events |= WRITABLE
            if fd in self._enders:
                events |= HUNG_UP
            if not events:
                self._waiting.pop(fd, None)  # its number may become another's
                self._tell()
                self._epoll.unregister(fd)
            elif is_known:
                self._epoll.modify(fd, events | select.EPOLLET)
            else:
                self._epoll.register(fd, events | select.EPOLLET)

        def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
            """Wait at most `timeout` seconds (None: without end) and serve the broker's sockets, in the order of
            arrival, until STEP_S is over. Returns the ready ones of the others with their events.
            """
            if self._waiting:
                return self._go_on()
            ready: list[tuple[selectors.SelectorKey, int]] = []
            readers = self._readers
            arrived = iter(self._epoll.poll(-1 if timeout is None else max(timeout, 0)))
            ends_s = monotonic() + STEP_S
            for fd, events in arrived:
                # Looked up now and not before: one of those just called may have closed this socket.
                if events == READABLE and fd in readers:
                    try:
                        readers[fd]()
                    except Exception as error:
                        self.on_error(error)
                elif fd == self._others_fd:
                    ready = super().select(0)
                else:
                    self._serve(fd, events)
                if monotonic() > ends_s:
                    self._keep(arrived)
            return ready

        def _keep(self, arrived: Iterable[tuple[int, int]]) -> None:
            """Leave what has arrived to the next call. What is ready of the others is reported there again."""
            self._waiting.update((fd, events) for fd, events in arrived if fd != self._others_fd)
            self._tell()

        def _tell(self) -> None:
            """Say whether sockets wait, if that is news."""
            is_late = bool(self._waiting)
            if is_late is not self._is_late:
                self._is_late = is_late
                for on_late in tuple(self.tell_late):
                    on_late(is_late)

        def _go_on(self) -> list[tuple[selectors.SelectorKey, int]]:
            """As `select`, while sockets wait: what has become ready since comes after them."""
            ready: list[tuple[selectors.SelectorKey, int]] = []
            waiting, ends_s = self._waiting, monotonic() + STEP_S
            for fd, events in self._epoll.poll(0):
                if fd == self._others_fd:
                    ready = super().select(0)
                else:
                    waiting[fd] = waiting.get(fd, 0) | events
            while waiting and monotonic() <= ends_s:
                self._serve(*waiting.popitem(last=False))
            self._tell()
            return ready

        def _serve(self, fd: int, events: int) -> None:
            """Anything but mere data: room for writing, an end, an error."""
            try:
                reader = self._readers.get(fd)
                if reader is not None and events & (READABLE | HUNG_UP | LOST):
                    reader()
                    if events & (HUNG_UP | LOST) and self._readers.get(fd) is reader:
                        # It has read data that came before the end; no other edge will tell of the end.
                        self._watch(fd, is_known=True)
                writer = self._writers.get(fd)
                if writer is not None and events & (WRITABLE | LOST):
                    writer()
                ender = self._enders.get(fd)
                if ender is not None and events & (HUNG_UP | LOST):
                    ender()
            except Exception as error:
                self.on_error(error)

        def close(self) -> None:
            """Close both epoll descriptors."""
            self._epoll.close()
            super().close()

    class SocketLoop(asyncio.SelectorEventLoop):
        """asyncio's loop on a SocketSelector. What a callback raises goes where asyncio's own would go."""

        def __init__(self) -> None:
            self.sockets = SocketSelector()
            self.sockets.on_error = self._report
            super().__init__(self.sockets)

        def _report(self, error: Exception) -> None:
            self.call_exception_handler({"message": "error while serving a socket", "exception": error})
