"""The HTTP API on a port, in the event loop of the broker that it controls."""

import asyncio
import socket
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Protocol

import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from fakebroker.cli.http.acceptor import Acceptor
from fakebroker.serve.net.ports import Ports

STOP_WITHIN_S = 1
MAX_READ_BYTES = 16 * 1024  # at once, of one caller: 40 ms, if each byte is a chunk of its own
READ_WITHIN_S = 0.01  # of one turn of the loop; then what other callers have sent waits for the next one


class ServedApp(Protocol):
    """An ASGI application that can be closed: what must end before the server can."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

    async def close(self) -> None:
        """End what does not end by itself."""


class Reading:
    """When the bytes of callers are read: so many in a turn of the loop that the broker's clients have theirs."""

    def __init__(self, loop: asyncio.AbstractEventLoop, stopwatch: Callable[[], float] = monotonic) -> None:
        self._loop = loop
        self._stopwatch = stopwatch
        self._waiting = deque[tuple[OneCaller, bytes]]()
        self._took_s = 0.0  # in this turn
        self._is_turn_to_come = False

    def take(self, caller: "OneCaller", data: bytes) -> None:
        """Let the caller read what it sent, now or in one of the next turns; until then it can send no more.

        Nothing is read any more once the caller has had its last answer.
        """
        if caller.transport.is_closing():
            return
        if self._waiting or self._took_s > READ_WITHIN_S:
            caller.transport.pause_reading()
            caller.waiting += 1
            self._waiting.append((caller, data))
        else:
            self._read(caller, data)
        self._have_turn()

    def _read(self, caller: "OneCaller", data: bytes) -> None:
        began_s = self._stopwatch()
        caller.read(data)
        self._took_s += self._stopwatch() - began_s

    def _have_turn(self) -> None:
        if not self._is_turn_to_come:
            self._is_turn_to_come = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._is_turn_to_come = False
        self._took_s = 0.0
        try:
            while self._waiting and self._took_s <= READ_WITHIN_S:
                caller, data = self._waiting.popleft()
                caller.waiting -= 1
                if not caller.transport.is_closing():
                    self._read_on(caller, data)
        finally:  # whatever goes wrong with one, the others go on
            if self._waiting:
                self._have_turn()

    def _read_on(self, caller: "OneCaller", data: bytes) -> None:
        try:
            self._read(caller, data)
        except BaseException:
            caller.transport.abort()
            raise
        caller.may_send()


class OneCaller(H11Protocol):
    """What speaks HTTP with one caller. It reads a little at once: a body may come in chunks of one byte."""

    reading: Reading  # of all callers of the server
    waiting = 0  # parts of what it has sent that are not read yet

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The transport has read nothing yet. Those of uvloop have no such attribute, and read 64 KiB at once."""
        if hasattr(transport, "max_size"):
            transport.max_size = MAX_READ_BYTES
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """The caller has sent something."""
        for start in range(0, len(data), MAX_READ_BYTES):
            self.reading.take(self, data[start : start + MAX_READ_BYTES])

    def read(self, data: bytes) -> None:
        """Read what the caller has sent."""
        super().data_received(data)

    def may_send(self) -> None:
        """What was sent has been read: the caller may send more, unless its request has to be read first."""
        if not self.waiting and not self.flow.read_paused and not self.transport.is_closing():
            self.transport.resume_reading()


class _Server(uvicorn.Server):
    """The owner of the event loop handles signals."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_ready = asyncio.Event()
        self._reading = Reading(asyncio.get_running_loop())

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take no signals."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve, and say so. Callers are accepted as the broker's ports accept clients (acceptor.py)."""
        await super().startup([])
        self.servers = [Acceptor(bound, self._protocol) for bound in sockets or ()]  # type: ignore[misc]
        self.is_ready.set()

    def _protocol(self) -> asyncio.Protocol:
        """What speaks HTTP with one caller."""
        caller = OneCaller(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)
        caller.reading = self._reading
        return caller


class ControlServer:
    """A running control server."""

    def __init__(self, app: ServedApp, ports: Ports) -> None:
        self._app = app
        self._ports = ports
        self._task: asyncio.Task[None] | None = None
        self._server: _Server

    async def start(self) -> None:
        """Serve in the running loop. Raises OSError for a port that is taken."""
        self._ports.bind()
        for bound in self._ports.sockets:  # connections inherit it: headers and body are two writes
            bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        config = uvicorn.Config(
            self._app,
            log_config=None,
            log_level="warning",
            access_log=False,
            lifespan="off",
            loop="none",
            http=OneCaller,  # not httptools, if that is installed: it takes headers of any length
            ws="none",
            server_header=False,
            timeout_graceful_shutdown=STOP_WITHIN_S,
        )
        self._server = _Server(config)
        self._task = asyncio.get_running_loop().create_task(self._server.serve(self._ports.sockets))
        ready = asyncio.ensure_future(self._server.is_ready.wait())
        await asyncio.wait({self._task, ready}, return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()

    async def stop(self) -> None:
        """Close the port and its connections, and stop the isolated brokers."""
        await self._app.close()
        if self._task is not None:
            self._server.should_exit = True
            await self._task
        self._ports.close()
