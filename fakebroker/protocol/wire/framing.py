"""Frames in a stream: an int32 length, then that many bytes (AV-1)."""

import struct
from collections.abc import Iterator

from fakebroker.protocol.errors import WireError

_SIZE = struct.Struct(">i")
PREFIX_BYTES = _SIZE.size
LONGEST_FRAME_BYTES = 2**31 - 1  # what the prefix can say
SHOWN_BYTES = 16  # of what is no frame, in an error
LARGE_BYTES = 64 * 1024  # from here on a copy costs more than to keep records in pieces
_PIECES = 256  # so many are joined if they are short: each has 33 bytes besides, and may come with two

TLS_ALERT = "; this looks like a TLS alert: the port speaks TLS"
_HTTP_METHODS = (b"GET ", b"POST", b"PUT ", b"HEAD", b"DELE", b"OPTI", b"PATC", b"CONN", b"PRI ", b"HTTP")


def with_length(frame: bytes) -> bytes:
    """A frame as it goes onto the stream."""
    return _SIZE.pack(len(frame)) + frame


def keep(data: bytes, pieces: list[bytes]) -> None:
    """Add what came to the pieces of a stream that wait. Short ones are joined: their number is the client's choice."""
    pieces.append(data)
    if not len(pieces) % _PIECES and sum(map(len, pieces[-_PIECES:])) <= LARGE_BYTES:
        pieces[-_PIECES:] = [b"".join(pieces[-_PIECES:])]


class FrameReader:
    """Cuts the frames out of a stream that comes in pieces of any size, and keeps what is not a whole frame yet.

    There are two ways to use it. `receive` and `frames` are the plain one. Whoever must be fast cuts whole frames out
    of what was received by itself (`Connection._turn`, which reads length, API and client id in one go) and comes
    here only for what is left: `take` everything kept, cut, `put_back` the rest, `measure` it.
    """

    __slots__ = (
        "_limit_name",
        "_pieces",
        "_position",
        "buffered_bytes",
        "limit_bytes",
        "smallest_bytes",
        "wanted_bytes",
    )

    def __init__(self, limit_bytes: int, smallest_bytes: int = 0, limit_name: str = "the limit") -> None:
        self.bound(limit_bytes, smallest_bytes, limit_name)
        self.buffered_bytes = 0
        # Below this many bytes there is nothing to do, so that a large frame is joined once and not piece by piece.
        self.wanted_bytes = PREFIX_BYTES
        self._pieces: list[bytes] = []
        self._position = 0  # in the first piece: what is before it was cut already

    def bound(self, limit_bytes: int, smallest_bytes: int, limit_name: str) -> None:
        """Have other bounds from the next frame on that is measured, in bytes without its length prefix."""
        self.limit_bytes, self.smallest_bytes, self._limit_name = limit_bytes, smallest_bytes, limit_name

    def receive(self, data: bytes) -> None:
        """Keep the next piece of the stream."""
        keep(data, self._pieces)
        self.buffered_bytes += len(data)

    @property
    def missing_bytes(self) -> int:
        """How many bytes more make the next frame whole; 0 if it is whole, or its length has not come yet."""
        return max(self.wanted_bytes - self.buffered_bytes, 0) if self.wanted_bytes > PREFIX_BYTES else 0

    def frames(self) -> Iterator[bytes]:
        """The frames that are complete. Raises WireError at a length that cannot be (AV-3)."""
        if self.buffered_bytes < self.wanted_bytes:
            return
        buffer, position = self.take()
        try:
            while len(buffer) - position >= (whole_bytes := self.whole_bytes(buffer, position)):
                frame = buffer[position + PREFIX_BYTES : position + whole_bytes]
                position += whole_bytes
                yield frame
        finally:
            self.put_back(buffer, position)
        self.measure()

    def take(self) -> tuple[bytes, int]:
        """Everything kept, in one piece, and the position in it where the next frame begins; nothing is kept then."""
        pieces, position = self._pieces, self._position
        self.clear()
        if len(pieces) > 1:
            pieces[0] = pieces[0][position:]
            return b"".join(pieces), 0
        return pieces[0], position

    def take_frame(self) -> bytes:
        """Cut out the next frame, without its prefix; it must be whole and measured. What follows it stays kept.

        For frames so long that each copy of them counts: there is one, unless more follows.
        """
        size = self.wanted_bytes - PREFIX_BYTES
        pieces, position = self._pieces, self._position
        self.clear()
        pieces[0] = pieces[0][position + PREFIX_BYTES :]
        data = b"".join(pieces)
        pieces.clear()
        self.put_back(data, size)
        return data[:size]

    def put_back(self, buffer: bytes, position: int) -> None:
        """Keep `buffer` from `position` on; nothing else is kept. What the bytes are is not looked at."""
        self.wanted_bytes = PREFIX_BYTES
        self.buffered_bytes = len(buffer) - position
        self._pieces, self._position = ([buffer], position) if self.buffered_bytes else ([], 0)

    def measure(self) -> None:
        """After `put_back`: find out how many bytes make the next frame whole. Raises WireError as `frames`."""
        if not self.buffered_bytes:
            return
        self.wanted_bytes = self.whole_bytes(self._pieces[0], self._position)
        if self.buffered_bytes < self.wanted_bytes:  # more has to come; do not hold on to what was cut already
            self._pieces, self._position = [self._pieces[0][self._position :]], 0

    def whole_bytes(self, buffer: bytes, position: int) -> int:
        """The length, with its prefix, of the frame that begins at `position`; the prefix's if that is incomplete.

        Raises WireError for a length that is less than the smallest frame's or beyond the limit (AV-3).
        """
        if len(buffer) - position < PREFIX_BYTES:
            return PREFIX_BYTES
        size: int = _SIZE.unpack_from(buffer, position)[0]
        if self.smallest_bytes <= size <= self.limit_bytes:
            return PREFIX_BYTES + size
        if size > self.limit_bytes:
            problem = f"a frame of {size} bytes is larger than {self._limit_name} ({self.limit_bytes})"
        else:
            problem = (
                f"a frame of {size} bytes is too short for a {'request' if self.smallest_bytes else 'response'} header"
            )
        raise WireError(problem + guess_protocol(buffer[position : position + SHOWN_BYTES]))

    def clear(self) -> None:
        """Keep nothing."""
        self._pieces, self._position = [], 0
        self.buffered_bytes, self.wanted_bytes = 0, PREFIX_BYTES


def guess_protocol(start: bytes) -> str:
    """A clause to append to an error about the bytes at `start`: what their sender probably speaks instead of Kafka.

    Of text it shows a few characters. More could be a login that came at the wrong moment, and its password.
    """
    if start[:2] == b"\x16\x03" and start[2:3] <= b"\x04":
        return "; this looks like a TLS handshake, but the listener is plaintext: check security.protocol"
    if start[:2] == b"\x15\x03" and start[2:3] <= b"\x04":
        return TLS_ALERT
    if start[:4] in _HTTP_METHODS:
        return "; this looks like HTTP, but the port speaks Kafka's protocol"
    if len(start) >= 4 and all(32 <= byte < 127 or byte in b"\r\n\t" for byte in start[:8]):
        return f"; this looks like text: {start[:SHOWN_BYTES].decode('latin-1')!r}"
    return ""
