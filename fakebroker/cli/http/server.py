"""The HTTP API on a port, in the event loop of the broker that it controls."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from fakebroker.cli.http.acceptor import Acceptor
from fakebroker.serve.net.ports import Ports

STOP_WITHIN_S = 1
MAX_READ_BYTES = 16 * 1024  # at once, of one caller


class ServedApp(Protocol):
    """An ASGI application that can be closed: what must end before the server can."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

    async def close(self) -> None:
        """End what does not end by itself."""


class OneCaller(H11Protocol):
    """What speaks HTTP with one caller. It reads a little at once: a body may come in chunks of one byte."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The transport has read nothing yet. Those of uvloop have no such attribute, and read 64 KiB at once."""
        if hasattr(transport, "max_size"):
            transport.max_size = MAX_READ_BYTES
        super().connection_made(transport)


class _Server(uvicorn.Server):
    """The owner of the event loop handles signals."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_ready = asyncio.Event()

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
        make: Any = self.config.http_protocol_class
        protocol: asyncio.Protocol = make(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return protocol


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
