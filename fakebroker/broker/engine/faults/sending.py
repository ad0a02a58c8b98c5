"""What actions do to the bytes of an answer: twice, cut, corrupted, slowly, or with the connection stalled after it."""

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, TypeAlias

from fakebroker.broker.engine.stages import Command, Passage, Pause
from fakebroker.protocol.schema.pieces import flattened
from fakebroker.protocol.wire.framing import PREFIX_BYTES
from fakebroker.protocol.wire.request_head import pack_prefix

if TYPE_CHECKING:
    from fakebroker.broker.engine.exchange import Exchange
    from fakebroker.broker.engine.faults.fault import Fault
    from fakebroker.protocol.schema import Message

PIECES_PER_S = 10  # of a slow answer, unless it is slower than a byte each
_CORRELATION_ID_BYTES = 4

Sending: TypeAlias = "Generator[Command, Message | None, None]"


def send_altered(exchange: "Exchange", fault: "Fault", response: "Message") -> Passage:
    """Send an answer as the action of a fault wants it, which settles the request.

    An answer that cannot be written is returned: the connection says so to the client.
    """
    try:
        body = exchange.route.encode(response)
    except Exception:
        return response
    frame = exchange.frame_of(body if isinstance(body, bytes) else b"".join(flattened(body)))
    yield from _WAYS[fault.spec.fields.get("action") or ""](exchange, fault, pack_prefix(len(frame)) + frame)
    return None


def _twice(exchange: "Exchange", _fault: "Fault", data: bytes) -> Sending:
    exchange.put(data + data)
    exchange.settle(data[PREFIX_BYTES:])
    yield from ()


def _truncated(exchange: "Exchange", fault: "Fault", data: bytes) -> Sending:
    exchange.put(data[: fault.spec.fields.get("bytes")])
    exchange.disconnect(str(fault), is_to_reset=True)
    yield from ()


def _corrupted(exchange: "Exchange", fault: "Fault", data: bytes) -> Sending:
    altered, position = bytearray(data), fault.spec.fields.get("offset")
    if position is None:  # not in the length, nor in the correlation id, if there is anything else
        first = min(PREFIX_BYTES + _CORRELATION_ID_BYTES, len(data) - 1)
        position = fault.byte_of(first, len(data))
    altered[min(position, len(data) - 1)] ^= 0xFF
    exchange.put(bytes(altered))
    exchange.settle(bytes(altered[PREFIX_BYTES:]))
    yield from ()


def _slowly(exchange: "Exchange", fault: "Fault", data: bytes) -> Sending:
    bytes_per_s = fault.spec.fields.get("bytes_per_s") or 1
    piece_bytes = max(1, bytes_per_s // PIECES_PER_S)
    for position in range(0, len(data), piece_bytes):
        piece = data[position : position + piece_bytes]
        exchange.put(piece)
        yield Pause(max(1, round(len(piece) * 1000 / bytes_per_s)))
    exchange.settle(data[PREFIX_BYTES:])


def _then_stalled(exchange: "Exchange", fault: "Fault", data: bytes) -> Sending:
    exchange.put(data)
    exchange.stall(True)
    yield Pause(fault.stall_ms)
    exchange.stall(False)
    exchange.settle(data[PREFIX_BYTES:])


_WAYS: "dict[str, Callable[[Exchange, Fault, bytes], Sending]]" = {
    "answer-twice": _twice,
    "truncate": _truncated,
    "corrupt": _corrupted,
    "slow": _slowly,
    "stall-reading": _then_stalled,
}
