"""Accepts the callers of the HTTP port as the broker's own ports accept clients.

Without file descriptors asyncio's way of accepting logs a traceback for each place of the backlog, again and again.
"""

import asyncio
import logging
import socket
from collections.abc import Callable

from fakebroker.serve.net.loop import watcher_of
from fakebroker.serve.net.ports import BACKLOG

ACCEPT_AGAIN_AFTER_S = 1.0

log = logging.getLogger("fakebroker")


class Acceptor:
    """Callers of one listening socket, each with a protocol that `make` makes. It stands for an asyncio.Server."""

    def __init__(self, bound: socket.socket, make: Callable[[], asyncio.Protocol]) -> None:
        self._bound = bound
        self._make = make
        self._loop = asyncio.get_running_loop()
        self._sockets = watcher_of(self._loop)
        self._connecting: set[asyncio.Task[object]] = set()
        self._again: asyncio.TimerHandle | None = None
        self._begin()

    def close(self) -> None:
        """Accept no more callers."""
        if self._again is not None:
            self._again.cancel()
        if self._bound.fileno() >= 0:
            self._sockets.remove_reader(self._bound.fileno())

    async def wait_closed(self) -> None:
        """Nothing is left to wait for."""

    def _begin(self) -> None:
        self._again = None
        self._sockets.add_reader(self._bound.fileno(), self._accept)

    def _accept(self) -> None:
        for _ in range(BACKLOG):
            try:
                accepted, _peer = self._bound.accept()
            except ConnectionAbortedError:
                continue
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:  # no file descriptors left, most likely
                log.warning("cannot accept a connection on the HTTP port: %s", error)
                self._sockets.remove_reader(self._bound.fileno())
                self._again = self._loop.call_later(ACCEPT_AGAIN_AFTER_S, self._begin)
                return
            accepted.setblocking(False)
            task = self._loop.create_task(self._connect(accepted))
            self._connecting.add(task)
            task.add_done_callback(self._connecting.discard)
        self._begin()  # there may be more

    async def _connect(self, accepted: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(self._make, accepted)
        except OSError as error:  # gone already
            log.debug("an HTTP client disconnected at once: %s", error)
            accepted.close()
