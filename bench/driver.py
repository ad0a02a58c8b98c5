"""The load: requests are encoded before the clock starts; then only bytes are moved, and answers counted by length.

No two requests in a row are equal: each has an id, an offset, a time or a size of its own, as clients send them.
"""

import selectors
import socket
import statistics
import struct
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from bench.requests import frame
from bench.targets import Target
from fakebroker.broker.engine.subjects import errors_of
from fakebroker.protocol.schema import Message
from fakebroker.protocol.wire.frame import decode_response

Address = tuple[str, int]
SILENCE_S = 5.0


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
    return _read(sock, struct.unpack(">i", _read(sock, 4))[0])


def _read(sock: socket.socket, size: int) -> bytes:
    """So many bytes. Several reads: a socket with a timeout gives what there is."""
    parts = []
    while size > 0:
        part = sock.recv(size)
        if not part:
            raise ConnectionError("the broker closed the connection")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def ask(sock: socket.socket, request: Message, version: int) -> Any:
    """One request and its decoded answer."""
    sock.sendall(frame(request, version))
    return decode_response(request.api_key, version, read_frame(sock))[1]


class _Stream:
    """One connection that keeps a number of requests in flight: those of a list, in turn and again from its start.

    Answers are counted by their bytes, so all of them must be of one length; that they are, and good, is seen before.
    """

    def __init__(self, address: Address, requests: Sequence[bytes], first: int, depth: int) -> None:
        self.sock = connect(address)
        self._requests, self._next = requests, first
        self.answer_bytes = self._check()
        self.sock.setblocking(False)
        self._received = self.answered = 0
        self._unsent = memoryview(self._take(depth))

    def _check(self) -> int:
        """Send some of the requests one by one; returns the length of an answer. AssertionError for a bad answer."""
        lengths = set()
        for _ in range(min(3, len(self._requests))):
            request = self._take(1)
            self.sock.sendall(request)
            answer = read_frame(self.sock)
            assert answer[:4] == request[8:12], "the answer to another request"
            assert_good(request, answer)
            lengths.add(len(answer) + 4)
        assert len(lengths) == 1, f"answers of several lengths: {lengths}"
        return lengths.pop()

    def _take(self, count: int) -> bytes:
        """The next requests."""
        requests, first = self._requests, self._next
        self._next = (first + count) % len(requests)
        if first + count <= len(requests):
            return b"".join(requests[first : first + count])
        return b"".join(requests[(first + n) % len(requests)] for n in range(count))

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
            self._unsent = memoryview(bytes(self._unsent) + self._take(new))
        self._send()

    def _send(self) -> None:
        try:
            while self._unsent:
                self._unsent = self._unsent[self.sock.send(self._unsent) :]
        except BlockingIOError:
            pass


def assert_good(request: bytes, answer: bytes) -> None:
    """AssertionError if an answer has an error code."""
    api_key, version = struct.unpack_from(">hh", request, 4)
    decoded = decode_response(api_key, version, answer)[1]
    errors = list(errors_of(decoded))
    assert not errors, errors


def load(target: Target, requests: Sequence[bytes], connections: int, depth: int, seconds: float) -> Rate:
    """Keep `depth` requests in flight on each of `connections` connections for `seconds` (depth 1 is a closed loop).

    Each connection begins at another place of `requests`.
    """
    apart = max(1, len(requests) // connections)
    streams = [_Stream(target.address, requests, n * apart % len(requests), depth) for n in range(connections)]
    selector = selectors.DefaultSelector()
    for stream in streams:
        selector.register(stream.sock, selectors.EVENT_READ, stream)
        stream.turn()
    cpu_us, began = target.cpu_us(), time.perf_counter()
    answered = -sum(s.answered for s in streams)
    while (elapsed := time.perf_counter() - began) < seconds:
        ready = selector.select(SILENCE_S)
        assert ready, f"no answer for {SILENCE_S} s: it is lost, or answers are of several lengths"
        for key, _ in ready:
            key.data.turn()
    answered += sum(s.answered for s in streams)
    rate = Rate(answered / elapsed, (target.cpu_us() - cpu_us) / max(answered, 1))
    for stream in streams:
        stream.sock.close()
    return rate


def median_and_spread(values: list[float]) -> tuple[float, float, float]:
    """Median, smallest and largest."""
    return statistics.median(values), min(values), max(values)
