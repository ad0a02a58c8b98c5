"""The time index: running maxima of timestamps, in an array that bisect can search.

Timestamps come in any order, but the maximum so far never falls, so "the first entry that reaches t" is one bisection
whatever the order, and an entry costs eight bytes. Sorted containers would buy nothing here.
"""

from array import array
from bisect import bisect_left

from fakebroker.protocol.records.search import BEFORE_EVERY_TIMESTAMP


class RunningMaximum:
    """The running maximum over a sequence of timestamps (ms), one entry per batch or per segment."""

    __slots__ = ("maxima",)

    def __init__(self) -> None:
        self.maxima = array("q")

    def add(self, timestamp_ms: int) -> None:
        """Append the next entry."""
        maxima = self.maxima
        if maxima and maxima[-1] > timestamp_ms:
            timestamp_ms = maxima[-1]
        maxima.append(timestamp_ms)

    def raise_last(self, timestamp_ms: int) -> None:
        """The last entry has grown to `timestamp_ms` (a segment took another batch)."""
        if timestamp_ms > self.maxima[-1]:
            self.maxima[-1] = timestamp_ms

    def first_reaching(self, target_ms: int) -> int:
        """Which entry is the first with a timestamp >= `target_ms`; the number of entries if none is."""
        return bisect_left(self.maxima, target_ms)

    def largest(self) -> int:
        """The largest timestamp; BEFORE_EVERY_TIMESTAMP when there is no entry."""
        return self.maxima[-1] if self.maxima else BEFORE_EVERY_TIMESTAMP

    def truncate(self, count: int) -> None:
        """Keep the first `count` entries."""
        del self.maxima[count:]
