"""Answers that clients have asked for and do not read: together they have a bound, as one answer has."""

from collections.abc import Hashable
from typing import Generic, TypeVar

MAX_UNREAD_BYTES = 512 << 20  # of all clients; records are not counted, which are kept anyway

Client = TypeVar("Client", bound=Hashable)


class UnreadAnswers(Generic[Client]):
    """How many bytes of long answers each client has not read when its socket took no more."""

    def __init__(self) -> None:
        self._bytes: dict[Client, int] = {}
        self._total_bytes = 0

    def __contains__(self, client: object) -> bool:
        return client in self._bytes

    def note(self, client: Client, size_bytes: int) -> None:
        """A client that was not noted yet leaves so much unread."""
        self._bytes[client] = size_bytes
        self._total_bytes += size_bytes

    def forget(self, client: Client) -> None:
        """A client has read everything, or is gone."""
        self._total_bytes -= self._bytes.pop(client, 0)

    def one_too_many(self) -> Client | None:
        """The client that leaves most unread, if all together leave more than there is room for."""
        return max(self._bytes, key=self._bytes.__getitem__) if self._total_bytes > MAX_UNREAD_BYTES else None
