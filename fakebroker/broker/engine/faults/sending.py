"""What actions do to the bytes of an answer: twice, cut, corrupted, slowly, or with the connection stalled after it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fakebroker.protocol.schema.pieces import flattened
from fakebroker.protocol.wire.framing import PREFIX_BYTES
from fakebroker.protocol.wire.request_head import pack_prefix

if TYPE_CHECKING:
    from fakebroker.broker.apis.call import Call
    from fakebroker.broker.engine.connection import Connection
    from fakebroker.broker.engine.dispatch import Route
    from fakebroker.broker.engine.faults.fault import Fault

PIECES_PER_S = 10  # of a slow answer, unless it is slower than a byte each
_CORRELATION_ID_BYTES = 4

After = Callable[[int, Callable[[], None]], None]


class Sending:
    """The answer of one request, sent as the action of a fault wants it. `after(ms, then)` lets time pass."""

    def __init__(self, connection: "Connection", call: "Call", route: "Route", fault: "Fault", after: After) -> None:
        self._connection = connection
        self._call = call
        self._route = route
        self._fault = fault
        self._after = after
        self._data = b""

    def send(self, response: Any) -> None:
        """Send it. An answer that cannot be written is left to the connection, which says so to the client."""
        try:
            body = self._route.encode(response)
        except Exception:
            self._connection.answer(self._call, response)
            return
        frame = self._connection.head + (body if isinstance(body, bytes) else b"".join(flattened(body)))
        self._data = pack_prefix(len(frame)) + frame
        _WAYS[self._fault.spec.action or ""](self)

    def _twice(self) -> None:
        self._connection.put(self._data + self._data)
        self._finish()

    def _truncated(self) -> None:
        self._connection.put(self._data[: self._fault.spec.bytes])
        self._connection.note(None)
        self._connection.end(str(self._fault), is_to_reset=True)

    def _corrupted(self) -> None:
        data, place = bytearray(self._data), self._fault.spec.offset
        if place is None:  # not in the length, nor in the correlation id, if there is anything else
            first = min(PREFIX_BYTES + _CORRELATION_ID_BYTES, len(data) - 1)
            place = self._fault.byte_of(first, len(data))
        data[min(place, len(data) - 1)] ^= 0xFF
        self._data = bytes(data)
        self._connection.put(self._data)
        self._finish()

    def _slowly(self) -> None:
        self._piece(0)

    def _piece(self, position: int) -> None:
        bytes_per_s = self._fault.spec.bytes_per_s or 1
        if self._connection.is_gone:
            return
        if position >= len(self._data):
            self._finish()
            return
        end = position + max(1, bytes_per_s // PIECES_PER_S)
        piece = self._data[position:end]
        self._connection.put(piece)
        self._after(max(1, round(len(piece) * 1000 / bytes_per_s)), lambda: self._piece(end))

    def _then_stalled(self) -> None:
        self._connection.put(self._data)
        self._connection.stall(True)
        self._after(self._fault.stall_ms, self._stalled)

    def _stalled(self) -> None:
        if not self._connection.is_gone:
            self._connection.stall(False)
            self._finish()

    def _finish(self) -> None:
        self._connection.note(self._data[PREFIX_BYTES:])
        self._connection.finish(self._call)


_WAYS: dict[str, Callable[[Sending], None]] = {
    "answer-twice": Sending._twice,
    "truncate": Sending._truncated,
    "corrupt": Sending._corrupted,
    "slow": Sending._slowly,
    "stall-reading": Sending._then_stalled,
}
