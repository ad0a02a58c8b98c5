"""One connection of a client, without the socket: requests become bytes, bytes become answers."""

import struct
from typing import Protocol

from fakebroker.protocol.errors import FakebrokerError, Unavailable, WireError
from fakebroker.protocol.schema import Message
from fakebroker.protocol.wire.dialects import response_to
from fakebroker.protocol.wire.frame import decode_response, encode_request
from fakebroker.protocol.wire.framing import FrameReader, with_length
from fakebroker.protocol.wire.registry import api

MAX_FRAME_BYTES = 256 * 1024 * 1024
_CORRELATION_ID = struct.Struct(">i")


class ConnectionLost(Unavailable):
    """The connection was closed or broke before the answer came; the text says how."""


class Pending:
    """A request that was sent. When `is_done`, either `response` or `error` is set, or neither with acks 0."""

    __slots__ = ("api_key", "correlation_id", "draft", "error", "is_done", "response", "version")

    def __init__(self, api_key: int, version: int, correlation_id: int) -> None:
        self.api_key = api_key
        self.version = version
        self.correlation_id = correlation_id
        self.draft: type[Message] | None = None  # the class of the response, where a dialect has one of its own
        self.response: Message | None = None
        self.error: FakebrokerError | None = None
        self.is_done = False

    def result(self) -> Message:
        """The answer. Raises ConnectionLost or WireError if there is none, and RuntimeError while it is awaited."""
        if self.error is not None:
            raise self.error
        if self.response is None:
            raise RuntimeError(f"{self!r} has no answer yet")
        return self.response

    def __repr__(self) -> str:
        return f"{api(self.api_key).name} v{self.version} (correlation id {self.correlation_id})"


class Watch(Protocol):
    """Observes every request of a connection, in the order in which they are sent and end."""

    def sent(self, pending: Pending, request: Message | None) -> None:
        """A request is sent; None for bytes that were sent as they are."""

    def ended(self, pending: Pending) -> None:
        """It was answered, or will not be: then it has an error, or neither with acks 0."""


class ClientConnection:
    """The client's side of one connection: correlation ids, requests under way, bytes out and in."""

    def __init__(self, client_id: str | None = "fakebroker-client") -> None:
        self.client_id = client_id
        self.pending: dict[int, Pending] = {}
        self.closed_reason: str | None = None
        self.watch: Watch | None = None
        self._last_correlation_id = 0
        self._out: list[bytes] = []
        self._in = FrameReader(MAX_FRAME_BYTES)

    def send(self, request: Message, version: int, expects_answer: bool = True) -> Pending:
        """Queue a request. With `expects_answer` False (Produce with acks 0) it is done at once, without an answer.

        Raises WireError when the request does not fit the version.
        """
        self._last_correlation_id += 1
        correlation_id = self._last_correlation_id
        frame = encode_request(request, version, correlation_id, self.client_id)
        pending = self._begin(request.api_key, version, correlation_id, request)
        pending.draft = response_to(type(request))
        if not expects_answer and not pending.is_done:
            self._end(self.pending.pop(correlation_id))
        self.send_bytes(with_length(frame))
        return pending

    def send_bytes(self, data: bytes) -> None:
        """Queue bytes as they are."""
        self._out.append(data)

    def expect(self, api_key: int, version: int, correlation_id: int) -> Pending:
        """Expect a response with `correlation_id`, of that API and version, to a request sent by `send_bytes`."""
        return self._begin(api_key, version, correlation_id, None)

    def _begin(self, api_key: int, version: int, correlation_id: int, request: Message | None) -> Pending:
        pending = Pending(api_key, version, correlation_id)
        self.pending[correlation_id] = pending
        if self.watch is not None:
            self.watch.sent(pending, request)
        if self.closed_reason is not None:
            self.close(self.closed_reason)
        return pending

    def data_to_send(self) -> bytes:
        """The bytes queued since the last call."""
        data = b"".join(self._out)
        self._out.clear()
        return data

    def receive(self, data: bytes) -> None:
        """Take in bytes from the broker, in pieces of any size. An unexpected answer closes the connection."""
        self._in.receive(data)
        try:
            for frame in self._in.frames():
                self._answer(frame)
        except WireError as error:
            self.close(f"the broker sent what is no answer: {error}")

    def close(self, reason: str) -> None:
        """Note that the connection was closed: every unanswered request ends with ConnectionLost and `reason`."""
        self.closed_reason = reason
        ended = list(self.pending.values())
        self.pending.clear()
        for pending in ended:
            pending.error = ConnectionLost(f"{pending!r}: {reason}")
            self._end(pending)

    def _answer(self, frame: bytes) -> None:
        correlation_id = _CORRELATION_ID.unpack_from(frame)[0] if len(frame) >= 4 else None
        pending = self.pending.pop(correlation_id, None) if correlation_id is not None else None
        if pending is None:
            self.close(f"the answer with correlation id {correlation_id} belongs to no request")
            return
        try:
            _, pending.response = decode_response(pending.api_key, pending.version, frame, pending.draft)
        except WireError as error:
            pending.error = error
        self._end(pending)

    def _end(self, pending: Pending) -> None:
        pending.is_done = True
        if self.watch is not None:
            self.watch.ended(pending)
