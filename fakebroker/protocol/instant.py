"""The two clocks of the broker, read together: every request, timer and record gets its time from one `Instant`."""

from typing import NamedTuple


class Instant(NamedTuple):
    """One moment, read on both clocks.

    `wall_ms` is what Kafka compares with stored times: record timestamps, retention, expiry, transaction timeouts
    (milliseconds since the epoch). `mono_ms` drives the timers of live clients: session, rebalance, sync and
    long-poll timers (milliseconds since any origin). A test may move the first without the second, so that days pass
    while members stay alive.
    """

    wall_ms: int
    mono_ms: int

    def plus(self, ms: int) -> "Instant":
        """The moment `ms` milliseconds later on both clocks."""
        return Instant(self.wall_ms + ms, self.mono_ms + ms)
