"""Brokers that go wrong: a proxy before a good one that spoils answers, and servers that are no brokers at all."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

HOST = "127.0.0.1"
_SIZE = struct.Struct(">i")
_KEY = struct.Struct(">h")
Spoil = Callable[[int, bytes], bytes | None]  # (API key, answer with its length) -> what is sent; None closes


class Server:
    """Accepts connections and serves each in a thread, until it is closed."""

    def __init__(self, serve: Callable[[socket.socket], None]) -> None:
        self._serve = serve
        self._listening = socket.create_server((HOST, 0))
        self._open: list[socket.socket] = []
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> str:
        """Where it listens, as HOST:PORT."""
        return f"{HOST}:{self._listening.getsockname()[1]}"

    def close(self) -> None:
        """Stop listening, and break every connection."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        with self._lock:
            for each in self._open:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
                each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                accepted, _ = self._listening.accept()
                with self._lock:
                    self._open.append(accepted)
                threading.Thread(target=self._one, args=(accepted,), daemon=True).start()

    def _one(self, accepted: socket.socket) -> None:
        with suppress(OSError, EOFError):
            self._serve(accepted)
        with suppress(OSError):
            accepted.shutdown(socket.SHUT_RDWR)
        accepted.close()


@contextmanager
def server(serve: Callable[[socket.socket], None]) -> Iterator[Server]:
    """A server until the block ends."""
    serving = Server(serve)
    try:
        yield serving
    finally:
        serving.close()


@contextmanager
def spoiled(bootstrap: str, spoil: Spoil) -> Iterator[Server]:
    """A proxy before the broker at `bootstrap` that sends what `spoil` makes of each answer."""
    host, _, port = bootstrap.rpartition(":")

    def serve(client: socket.socket) -> None:
        with socket.create_connection((host, int(port))) as broker:
            while True:
                request = _frame(client)
                broker.sendall(request)
                answer = spoil(_KEY.unpack_from(request, 4)[0], _frame(broker))
                if answer is None:
                    return
                client.sendall(answer)

    with server(serve) as serving:
        yield serving


def silent(client: socket.socket) -> None:
    """Read, and never answer."""
    while client.recv(65536):
        pass


def _frame(sock: socket.socket) -> bytes:
    head = _exactly(sock, 4)
    return head + _exactly(sock, _SIZE.unpack(head)[0])


def _exactly(sock: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = sock.recv(count - len(data))
        if not more:
            raise EOFError
        data += more
    return data
