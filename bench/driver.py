"""The load: requests are encoded before the clock starts; then only bytes are moved, and answers counted by length."""

import selectors
import socket
import statistics
import struct
import time
from typing import Any, NamedTuple

from bench.requests import frame
from bench.targets import Target
from fakebroker.schema import Message
from fakebroker.wire.frame import decode_response

Address = tuple[str, int]


class Rate(NamedTuple):
    """What one round measured: requests per second, and the broker's CPU microseconds per request."""

    per_second: float
    cpu_us: float


def connect(address: Address) -> socket.socket:
    sock = socket.create_connection(address, 10)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def read_frame(sock: socket.socket) -> bytes:
    """One answer without its length prefix."""
    head = sock.recv(4, socket.MSG_WAITALL)
    if len(head) < 4:
        raise ConnectionError("the broker closed the connection")
    return sock.recv(struct.unpack(">i", head)[0], socket.MSG_WAITALL)


def ask(sock: socket.socket, request: Message, version: int) -> Any:
    """One request and its decoded answer."""
    sock.sendall(frame(request, version))
    return decode_response(request.api_key, version, read_frame(sock))[1]


class _Stream:
    """One connection that keeps a number of equal requests in flight."""

    def __init__(self, address: Address, request: bytes, depth: int) -> None:
        self.sock = connect(address)
        self.sock.sendall(request)
        self.answer_bytes = len(read_frame(self.sock)) + 4
        self.sock.setblocking(False)
        self._request, self._depth = request, depth
        self._received = self.answered = 0
        self._unsent = memoryview(request * depth)

    def turn(self) -> None:
        """Take what has come, and send one request for each answer."""
        try:
            while chunk := self.sock.recv(1 << 20):
                self._received += len(chunk)
        except BlockingIOError:
            pass
        new = self._received // self.answer_bytes - self.answered
        self.answered += new
        if new:
            self._unsent = memoryview(bytes(self._unsent) + self._request * new)
        self._send()

    def _send(self) -> None:
        try:
            while self._unsent:
                self._unsent = self._unsent[self.sock.send(self._unsent) :]
        except BlockingIOError:
            pass


def load(target: Target, request: bytes, connections: int, depth: int, seconds: float) -> Rate:
    """Keep `depth` requests in flight on each of `connections` connections for `seconds` (depth 1 is a closed loop)."""
    streams = [_Stream(target.address, request, depth) for _ in range(connections)]
    selector = selectors.DefaultSelector()
    for stream in streams:
        selector.register(stream.sock, selectors.EVENT_READ, stream)
        stream.turn()
    cpu_us, began = target.cpu_us(), time.perf_counter()
    answered = -sum(s.answered for s in streams)
    while (elapsed := time.perf_counter() - began) < seconds:
        for key, _ in selector.select(0.1):
            key.data.turn()
    answered += sum(s.answered for s in streams)
    rate = Rate(answered / elapsed, (target.cpu_us() - cpu_us) / max(answered, 1))
    for stream in streams:
        stream.sock.close()
    return rate


def median_and_spread(values: list[float]) -> tuple[float, float, float]:
    """Median, smallest and largest."""
    return statistics.median(values), min(values), max(values)
