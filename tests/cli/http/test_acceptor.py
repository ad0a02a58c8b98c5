"""How callers are accepted when the process has no file descriptors left."""

import asyncio
import errno
import logging
import os
import socket

import pytest

from fakebroker.cli.http import acceptor
from fakebroker.cli.http.acceptor import Acceptor


class Full:
    """A listening socket in a process without descriptors, until it has been asked some times."""

    def __init__(self, bound: socket.socket, refusals: int) -> None:
        self.bound = bound
        self.refusals = refusals
        self.asked = 0

    def fileno(self) -> int:
        """Its number."""
        return self.bound.fileno()

    def accept(self) -> tuple[socket.socket, object]:
        """The next caller, or EMFILE."""
        self.asked += 1
        if self.refusals:
            self.refusals -= 1
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return self.bound.accept()


class Greeting(asyncio.Protocol):
    """A protocol that says one word."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Say it."""
        assert isinstance(transport, asyncio.Transport)
        transport.write(b"hello")
        transport.close()


def test_callers_wait_while_there_are_no_descriptors(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One line for each pause, not one for each caller; then all are served."""
    monkeypatch.setattr(acceptor, "ACCEPT_AGAIN_AFTER_S", 0.01)

    async def run() -> None:
        with socket.create_server(("127.0.0.1", 0)) as bound:
            bound.setblocking(False)
            full = Full(bound, 3)
            server = Acceptor(full, Greeting)  # type: ignore[arg-type]
            callers = [await asyncio.open_connection(*bound.getsockname()) for _ in range(20)]
            for reader, writer in callers:
                assert await reader.read() == b"hello"
                writer.close()
            server.close()
            await server.wait_closed()
            asked = full.asked
            with socket.create_connection(bound.getsockname()):
                await asyncio.sleep(0)
                assert full.asked == asked

    asyncio.run(run())
    messages = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert messages == ["cannot accept a connection on the HTTP port: [Errno 24] Too many open files"] * 3
