"""The recording proxy in a thread of this process, and upstreams that the test plays."""

import asyncio
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fakebroker.client.security import ClientConfig, Security
from fakebroker.protocol.listeners import Address
from fakebroker.protocol.wire.framing import with_length
from fakebroker.scenarios.recording.proxy import Proxy
from fakebroker.testing.exchanges.reading import read_session
from fakebroker.testing.exchanges.writing import LineFile

TIMEOUT_S = 20
MAX_FRAME_BYTES = 100 << 20  # socket.request.max.bytes
ANYWHERE = Address("127.0.0.1", 0)


class Recording:
    """A running proxy: where clients connect, and the session so far."""

    def __init__(self, proxy: Proxy, path: Path, address: Address) -> None:
        self.proxy = proxy
        self.path = path
        self.address = address
        self.bootstrap = f"{address.host}:{address.port}"

    def lines(self, *kinds: str, **fields: Any) -> list[dict[str, Any]]:
        """The lines of these kinds that have these values."""
        return [
            line
            for _, line in read_session(self.path)
            if (not kinds or line["kind"] in kinds) and all(line.get(name) == value for name, value in fields.items())
        ]

    def wait_for(self, *kinds: str, count: int = 1, **fields: Any) -> list[dict[str, Any]]:
        """The lines as `lines` has them, when there are `count` of them."""
        waiting = threading.Event()
        for _ in range(TIMEOUT_S * 100):
            found = self.lines(*kinds, **fields)
            if len(found) >= count:
                return found
            waiting.wait(0.01)
        raise AssertionError(f"only {len(found)} lines of {kinds} with {fields}; the session has {self.lines()}")


@contextmanager
def recording(upstream: str, path: Path, security: Security = Security(), **options: Any) -> Iterator[Recording]:
    """Record what clients say to `upstream` ("HOST:PORT") in the file at `path`."""
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()

        async def make() -> tuple[Proxy, Address]:
            made = Proxy(ClientConfig(upstream, security), ANYWHERE, LineFile(path), **options)
            try:
                return made, await made.start()
            except Exception:
                await made.stop("it cannot start")
                raise

        try:
            proxy, address = asyncio.run_coroutine_threadsafe(make(), loop).result(TIMEOUT_S)
            try:
                yield Recording(proxy, path, address)
            finally:
                asyncio.run_coroutine_threadsafe(proxy.stop("the test ends"), loop).result(TIMEOUT_S)
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(TIMEOUT_S)


class PlayedUpstream:
    """A port whose answers the test gives: `answer` takes the frame of a request and gives that of the answer.

    None is no answer, and b"" closes the connection. `requests` are the frames that came.
    """

    def __init__(self, answer: Callable[[bytes], bytes | None]) -> None:
        self.requests: list[bytes] = []
        self._answer = answer
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = []
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                self._sockets.append(self._listening.accept()[0])
                threading.Thread(target=self._serve, args=(self._sockets[-1],), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        with suppress(OSError), sock:
            while frame := receive(sock):
                self.requests.append(frame)
                answer = self._answer(frame)
                if answer == b"":
                    return
                if answer is not None:
                    sock.sendall(with_length(answer))

    def close(self) -> None:
        """Stop listening, and close every connection."""
        for sock in (self._listening, *self._sockets):
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()


@contextmanager
def played(answer: Callable[[bytes], bytes | None]) -> Iterator[PlayedUpstream]:
    """An upstream that the test plays."""
    upstream = PlayedUpstream(answer)
    try:
        yield upstream
    finally:
        upstream.close()


def receive(sock: socket.socket) -> bytes:
    """The next frame; nothing if the other side has closed, or sends one longer than a broker takes, as TLS begins."""
    data, wanted = b"", 4
    while len(data) < wanted <= 4 + MAX_FRAME_BYTES:
        piece = sock.recv(min(wanted - len(data), 1 << 20))
        if not piece:
            return b""
        data += piece
        if len(data) == 4:
            wanted = 4 + int(struct.unpack(">i", data)[0])
    return data[4:]


@contextmanager
def connected(address: Address) -> Iterator[socket.socket]:
    """A client's socket."""
    with socket.create_connection(address, TIMEOUT_S) as sock:
        yield sock


def asked(sock: socket.socket, frame: bytes) -> bytes:
    """Send a frame and take its answer."""
    sock.sendall(with_length(frame))
    return receive(sock)
