"""What waits on the way to a broker that is frozen or cannot be reached, or is lost there."""

from fakebroker.protocol.wire.framing import keep


class BlockedBytes:
    """The bytes of one client, kept in order until they are let through; with `loses` they vanish instead."""

    __slots__ = ("_kept", "loses", "size_bytes")

    def __init__(self, *, loses: bool = False) -> None:
        self.loses = loses
        self.size_bytes = 0
        self._kept: list[bytes] = []

    def receive(self, data: bytes) -> None:
        """Bytes were sent."""
        if not self.loses:
            keep(bytes(data), self._kept)
            self.size_bytes += len(data)

    def take(self) -> list[bytes]:
        """What was kept, in order; it is handed over."""
        kept, self._kept, self.size_bytes = self._kept, [], 0
        return kept


class BlockableLink:
    """What links share (`Link` in node_links.py): nothing gets through while there is `_blocked`."""

    __slots__ = ("_blocked",)
    _blocked: BlockedBytes | None

    def block(self, *, loses: bool = False) -> None:
        """Let nothing through in either direction: what is sent waits, or with `loses` vanishes from now on."""
        if self._blocked is None or loses:
            self._blocked = BlockedBytes(loses=loses)

    @property
    def has_lost(self) -> bool:
        """Whether bytes vanish, so that nothing more can come of this connection."""
        return self._blocked is not None and self._blocked.loses
