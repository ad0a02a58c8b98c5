"""The two readings of time that travel together through the broker."""

from typing import NamedTuple


class Instant(NamedTuple):
    """One moment, read on both clocks.

    `wall_ms` is what Kafka compares with stored times: record timestamps, retention, expiry, transaction timeouts
    (milliseconds since the epoch). `mono_ms` is what watches over live clients: session, rebalance, sync and
    long-poll timers (milliseconds since any origin). A test may move the first without touching the second.
    """

    wall_ms: int
    mono_ms: int

    def plus(self, ms: int) -> "Instant":
        """The moment `ms` milliseconds later on both clocks."""
        return Instant(self.wall_ms + ms, self.mono_ms + ms)
