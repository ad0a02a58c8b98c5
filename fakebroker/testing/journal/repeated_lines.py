"""Lines of requests like one before: a client's heartbeats differ from each other in numbers and times only.

A line is encoded once as a template, from which those numbers are left out. A request with the same bytes but for its
correlation id, on the same connection and answered by the same bytes, gets the template with its own numbers.
"""

from fakebroker.broker.engine.journal import Exchange
from fakebroker.testing.exchanges.writing import encode_value, line_of
from fakebroker.testing.journal.rows import Row, rows_of

MAX_TEMPLATES = 1_000
MAX_FRAME_BYTES = 512
_Key = tuple[int, bytes, bytes]
# The columns that differ, in the order in which they stand in a line.
_OWN = ("seq", "wall_ms", "mono_ms", "correlation_id", "waited_ms", "received_wall_ms", "received_mono_ms")


class RepeatedLines:
    """The templates of one file's run, at most MAX_TEMPLATES."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._templates: dict[_Key, bytes] = {}

    def clear(self) -> None:
        """Forget all: another broker begins, whose connections have the same numbers again."""
        self._templates.clear()

    def line_of(self, exchange: Exchange) -> bytes | None:
        """The line of a request like one before; None for any other."""
        request, response = exchange.request_frame, exchange.response_frame
        if request.__class__ is not bytes or response.__class__ is not bytes:
            return None
        template = self._templates.get((exchange.peer.connection_id, request[:4] + request[8:], response[4:]))
        if template is None:
            return None
        (wall_ms, mono_ms), (received_wall_ms, received_mono_ms) = exchange.answered, exchange.received
        correlation_id = int.from_bytes(request[4:8], "big", signed=True)
        waited_ms = mono_ms - received_mono_ms
        return template % (
            exchange.seq, wall_ms, mono_ms, correlation_id, waited_ms, received_wall_ms, received_mono_ms
        )  # fmt: skip

    def lines_and_learn(self, exchange: Exchange) -> bytes:
        """The lines of a request, whose template is kept if it may be repeated.

        Kept are requests that name no topics, because the name of a topic id may change, and lead to no other lines.
        """
        rows = list(rows_of(exchange, self._run))
        request, response = exchange.request_frame, exchange.response_frame
        if len(rows) == 1 and not rows[0]["topics"] and isinstance(request, bytes) and isinstance(response, bytes):
            self._learn(exchange.connection_id, request, response, rows[0])
        return b"".join(map(line_of, rows))

    def _learn(self, connection_id: int, request: bytes, response: bytes, row: Row) -> None:
        if len(request) + len(response) <= MAX_FRAME_BYTES:
            if len(self._templates) >= MAX_TEMPLATES:
                self._templates.clear()
            self._templates[connection_id, request[:4] + request[8:], response[4:]] = _template_of(row)


def _template_of(row: Row) -> bytes:
    """The line, in which the numbers of its own are places for `%`."""
    cells = [f"{encode_value(name)}:{_place_or_text(name, value)}" for name, value in row.items()]
    return ("{" + ",".join(cells) + "}\n").encode("utf-8", "backslashreplace")


def _place_or_text(name: str, value: object) -> str:
    return "%d" if name in _OWN else encode_value(value).replace("%", "%%")
