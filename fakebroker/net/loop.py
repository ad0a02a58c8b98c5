"""The event loop of brokers that have a loop of their own: it reads sockets in the order in which data arrived.

epoll does not list ready sockets in that order. Level-triggered, it appends every socket that it reports to its ready
list again, before those that become ready later. Suppose client A has just been answered, then B sends a request, then
A sends its next one, and one call of epoll finds both: A, still on the list, comes first, although B's request is the
older one. In a group the order of requests decides who joins first, who leads and which rebalance follows, so a test
that sends B's request first would see another course each time.

This order is a promise of ours (tests should repeat), not a behaviour of Kafka: there three network threads
(num.network.threads) read from sockets without any order among them.
"""

import asyncio
import select
import selectors
from contextlib import suppress
from typing import Any


def new_event_loop() -> asyncio.AbstractEventLoop:
    """A loop for one broker. Without epoll (not Linux) it has the platform's selector, and no order of arrival."""
    make_selector = ArrivalSelector if hasattr(select, "epoll") else selectors.DefaultSelector
    return asyncio.SelectorEventLoop(make_selector())


if hasattr(select, "epoll"):

    class ArrivalSelector(selectors.EpollSelector):
        """epoll, with the sockets in the order in which data arrived on them.

        A second epoll watches the same sockets edge-triggered. It reports a socket once for each arrival of data, in
        the order of arrival, and does not put it on its list again. It is asked for that order only: what is ready,
        and for what, the first one says. So a wrong number costs order, never an event.
        """

        def __init__(self) -> None:
            super().__init__()
            self._arrivals = select.epoll()
            self._arrival_numbers: dict[int, int] = {}  # file descriptor -> number of its latest arrival
            self._arrivals_count = 0

        def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
            """Watch a socket with both."""
            key = super().register(fileobj, events, data)
            self._arrivals.register(key.fd, select.EPOLLIN | select.EPOLLET)
            return key

        def unregister(self, fileobj: Any) -> selectors.SelectorKey:
            """Watch a socket no longer; it may be closed already, and then the kernel has forgotten it."""
            key = super().unregister(fileobj)
            with suppress(OSError):
                self._arrivals.unregister(key.fd)
            # The kernel gives the number of the descriptor to the next socket, which must not inherit its place.
            self._arrival_numbers.pop(key.fd, None)
            return key

        def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
            """The ready sockets with their events, the earliest arrival of data first; `timeout` is in seconds."""
            ready = super().select(timeout)
            # After the wait, not before it: every socket in `ready` must have its number by then.
            numbers, count = self._arrival_numbers, self._arrivals_count
            for fd, _ in self._arrivals.poll(0):
                count += 1
                numbers[fd] = count
            self._arrivals_count = count
            if len(ready) > 1:  # 0: ready for writing only, or no data has arrived yet
                ready.sort(key=lambda entry: numbers.get(entry[0].fd, 0))
            return ready

        def close(self) -> None:
            """Close both epoll descriptors."""
            self._arrivals.close()
            super().close()
