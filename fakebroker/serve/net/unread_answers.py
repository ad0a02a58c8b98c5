"""Answers that clients have asked for and do not read: together they have a bound, as one answer has."""

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar, cast

MAX_UNREAD_BYTES = 512 << 20  # of all clients; stored batches are not counted, which are kept anyway
SHORT_PIECE_BYTES = 1024  # of an answer with stored batches: what is longer is such a batch
_PIECE_COSTS_BYTES = 48  # beside its content

Client = TypeVar("Client", bound=Hashable)


def held_bytes(pieces: Iterable[bytes | memoryview], *, are_stored: bool) -> int:
    """What an answer holds, of which parts were sent already: a view keeps the whole piece that it is of.

    `are_stored`: long pieces are stored batches, which are not counted.
    """
    held = (len(cast("bytes", piece.obj) if isinstance(piece, memoryview) else piece) for piece in pieces)
    return sum(size + _PIECE_COSTS_BYTES for size in held if size < SHORT_PIECE_BYTES or not are_stored)


class UnreadAnswers(Generic[Client]):
    """How many bytes of long answers each client has not read when its socket took no more."""

    def __init__(self) -> None:
        self._bytes: dict[Client, int] = {}
        self._total_bytes = 0

    def __contains__(self, client: object) -> bool:
        return client in self._bytes

    def note(self, client: Client, size_bytes: int) -> None:
        """A client leaves so much more unread."""
        self._bytes[client] = self._bytes.get(client, 0) + size_bytes
        self._total_bytes += size_bytes

    def forget(self, client: Client) -> None:
        """A client has read everything, or is gone."""
        self._total_bytes -= self._bytes.pop(client, 0)

    def one_too_many(self) -> Client | None:
        """The client that leaves most unread, if all together leave more than there is room for."""
        return max(self._bytes, key=self._bytes.__getitem__) if self._total_bytes > MAX_UNREAD_BYTES else None
