"""A connection of an address that makes too many of them (KIP-612)."""

from fakebroker.broker.core.deadlines import Deadline
from fakebroker.broker.core.quotas.client_quotas import CONNECTION_CREATION_RATE
from fakebroker.broker.engine.connection import Connection
from fakebroker.broker.engine.connection_state import CLIENT_LEFT
from fakebroker.protocol.instant import Instant


class RefusedConnection(Connection):
    """Nothing of it is read, and when the throttle time is over it is closed."""

    _has_unread = False
    _end: Deadline | None = None

    def close_after(self, throttle_ms: int) -> None:
        """Close in `throttle_ms`; with a reset if the client has sent something, as nobody has read it."""
        reason = f"its address exceeds {CONNECTION_CREATION_RATE}"
        self._end = end = Deadline(lambda _now: self.end(reason, is_to_reset=self._has_unread), owner=self)
        self.engine.cluster.timers.mono.arm(end, self.engine.now.mono_ms + throttle_ms)

    def receive(self, _data: bytes, now: Instant) -> None:
        """Bytes came in, and nobody looks at them."""
        self.engine.tick(now)
        self._has_unread = True

    def closed(self, now: Instant, reason: str = CLIENT_LEFT) -> None:
        """See Connection."""
        if self._end is not None:
            self._end.end()
        super().closed(now, reason)
