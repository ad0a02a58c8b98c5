"""The event loop of brokers that have a loop of their own: it takes up requests in the order in which they came.

A selector lists the sockets that are ready in an order of its own. epoll puts those first that were ready the last
time, too: when a client is given an answer, then another client sends a request, and then the first its next one, and
both are found at once, the later request comes first, and a rebalance takes another course than it did with Kafka.
"""

import asyncio
import select
import selectors
from contextlib import suppress
from typing import Any


def new_event_loop() -> asyncio.AbstractEventLoop:
    """A loop for one broker. Where there is no epoll the platform's selector has to do."""
    make_selector = ArrivalSelector if hasattr(select, "epoll") else selectors.DefaultSelector
    return asyncio.SelectorEventLoop(make_selector())


if hasattr(select, "epoll"):

    class ArrivalSelector(selectors.EpollSelector):
        """epoll, with the sockets in the order in which they became ready.

        A second epoll watches the same sockets edge-triggered: it lists each arrival once, in the order of arrival.
        """

        def __init__(self) -> None:
            super().__init__()
            self._arrivals = select.epoll()
            self._places: dict[int, int] = {}  # file descriptor -> number of its latest arrival
            self._count = 0

        def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
            """Watch a socket."""
            key = super().register(fileobj, events, data)
            self._arrivals.register(key.fd, select.EPOLLIN | select.EPOLLET)
            return key

        def unregister(self, fileobj: Any) -> selectors.SelectorKey:
            """Do not watch it any more; it may be closed already."""
            key = super().unregister(fileobj)
            with suppress(OSError):
                self._arrivals.unregister(key.fd)
            self._places.pop(key.fd, None)
            return key

        def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
            """What is ready, the earliest arrival first."""
            ready = super().select(timeout)
            places, count = self._places, self._count
            for fd, _ in self._arrivals.poll(0):
                count += 1
                places[fd] = count
            self._count = count
            if len(ready) > 1:
                ready.sort(key=lambda entry: places.get(entry[0].fd, 0))
            return ready

        def close(self) -> None:
            """Give up both."""
            self._arrivals.close()
            super().close()
