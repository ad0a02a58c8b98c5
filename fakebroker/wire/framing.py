"""Frames in a stream: an int32 length, then that many bytes (AV-1). The engine cuts its own, in its request loop."""

import struct
from collections.abc import Iterable, Iterator, Sequence

from fakebroker.errors import WireError

_SIZE = struct.Struct(">i")
LARGE_BYTES = 64 * 1024  # from here on a copy costs more than to keep records in pieces

_HTTP_METHODS = (b"GET ", b"POST", b"PUT ", b"HEAD", b"DELE", b"OPTI", b"PATC", b"CONN", b"PRI ", b"HTTP")


def with_length(frame: bytes) -> bytes:
    """A frame as it goes onto the stream."""
    return _SIZE.pack(len(frame)) + frame


class FrameReader:
    """Cuts the frames out of a stream that comes in pieces of any size."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self._pieces: list[bytes] = []
        self._buffered_bytes = 0
        # Below this many bytes there is nothing to do, so that a large frame is joined once and not piece by piece.
        self._wanted_bytes = _SIZE.size

    def receive(self, data: bytes) -> None:
        """Takes the next piece of the stream."""
        self._pieces.append(data)
        self._buffered_bytes += len(data)

    def frames(self) -> Iterator[bytes]:
        """The frames that are complete. Raises WireError at a length below zero or beyond the limit (AV-3)."""
        if self._buffered_bytes < self._wanted_bytes:
            return
        buffer = b"".join(self._pieces)
        position = 0
        try:
            while (size := self._size_at(buffer, position)) is not None:
                end = position + _SIZE.size + size
                frame = buffer[position + _SIZE.size : end]
                position = end
                yield frame
        finally:
            self._pieces = [buffer[position:]]
            self._buffered_bytes = len(buffer) - position

    def _size_at(self, buffer: bytes, position: int) -> int | None:
        """The length of the frame that begins here; None if it is not there as a whole."""
        self._wanted_bytes = _SIZE.size
        if len(buffer) - position < _SIZE.size:
            return None
        size: int = _SIZE.unpack_from(buffer, position)[0]
        if not 0 <= size <= self.limit_bytes:
            raise WireError(
                f"a frame of {size} bytes (limit {self.limit_bytes}){guess_protocol(buffer[position : position + 16])}"
            )
        if len(buffer) - position < _SIZE.size + size:
            self._wanted_bytes = _SIZE.size + size
            return None
        return size


def guess_protocol(start: bytes) -> str:
    """A clause to append to an error about the bytes at `start`: what their sender probably speaks instead of Kafka."""
    if start[:2] == b"\x16\x03" and start[2:3] <= b"\x04":
        return "; these bytes look like a TLS handshake, and this listener speaks plain Kafka: check security.protocol"
    if start[:4] in _HTTP_METHODS:
        return "; these bytes look like HTTP, and this port speaks Kafka's protocol"
    if len(start) >= 4 and all(32 <= byte < 127 or byte in b"\r\n\t" for byte in start[:8]):
        return f"; these bytes look like text: {start.decode('latin-1')!r}"
    return ""


class Pieces:
    """Bytes in several pieces that nobody has joined, in the place of `bytes` in an answer that is sent in pieces.

    Its length is that of all pieces together, as the field's length prefix says it.
    """

    __slots__ = ("_size_bytes", "parts")

    def __init__(self, parts: Sequence[bytes]) -> None:
        self.parts = parts
        self._size_bytes = sum(map(len, parts))

    def __len__(self) -> int:
        return self._size_bytes


def flattened(pieces: Iterable[bytes | Pieces]) -> list[bytes]:
    """The bytes one by one, in order."""
    return [part for piece in pieces for part in (piece.parts if isinstance(piece, Pieces) else (piece,))]
