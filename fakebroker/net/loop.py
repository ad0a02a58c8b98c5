"""The event loop of brokers that have a loop of their own: it takes up requests in the order in which they came.

A selector returns the sockets that are ready in an order of its own: epoll lists those first that were ready the last
time, too. So when a client gets an answer, and then another client sends a request and it sends its next one, both
ready at once, the later request would come first, and a rebalance would take another course. Here whoever was served
last goes last, and who just connected goes first.
"""

import asyncio
import selectors
import socket


class FairSelector(selectors.DefaultSelector):
    """The platform's selector, with the sockets that were not ready the last time in front."""

    def __init__(self) -> None:
        super().__init__()
        self._last: set[int] = set()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready, in the order in which to take it up."""
        ready = super().select(timeout)
        if len(ready) > 1:
            ready.sort(key=self._rank)
        self._last = {key.fd for key, _ in ready}
        return ready

    def _rank(self, entry: tuple[selectors.SelectorKey, int]) -> int:
        """Listening sockets and new clients are registered as sockets, asyncio registers its own by their numbers."""
        key = entry[0]
        return 0 if isinstance(key.fileobj, socket.socket) else 1 + (key.fd in self._last)


def new_event_loop() -> asyncio.AbstractEventLoop:
    """A loop for one broker."""
    return asyncio.SelectorEventLoop(FairSelector())
