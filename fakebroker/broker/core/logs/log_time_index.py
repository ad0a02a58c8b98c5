"""Search by time over a whole log: one running maximum over segments, one inside each segment, one batch at the end.

What lies below the log start does not count for a search (LO-11), so the segment that the log start cuts gets a running
maximum of its own, made on the first search. A batch that it cuts counts with all that its header promises. The largest
timestamp of all does count it (LO-16).
"""

from collections.abc import Iterable

from fakebroker.broker.core.logs.running_maximum import RunningMaximum
from fakebroker.broker.core.logs.segment import Segment, last_offset
from fakebroker.protocol.records.search import BEFORE_EVERY_TIMESTAMP, max_timestamp_of


class LogTimeIndex:
    """An index over the segments of one log, valid until the log start moves or a segment is deleted.

    `added` and `rolled` must be called after appends.
    """

    def __init__(self, segments: Iterable[Segment], log_start_offset: int) -> None:
        self.segments = list(segments)
        self._start = sum(1 for s in self.segments if s.base_offset <= log_start_offset) - 1
        start = self.segments[self._start]
        is_cut = start.base_offset < log_start_offset
        self._start_times = _times_from(start, log_start_offset) if is_cut else start.times
        self._stored = RunningMaximum()  # over segments, whole
        self._live = RunningMaximum()  # over segments, what lies at or after the log start
        for index, segment in enumerate(self.segments):
            self._stored.add(segment.largest_timestamp_ms)
            if index < self._start:
                self._live.add(BEFORE_EVERY_TIMESTAMP)
            else:
                self._live.add(self._start_times.largest() if index == self._start else segment.largest_timestamp_ms)

    def added(self, max_timestamp_ms: int) -> None:
        """The last segment took a batch with this largest timestamp."""
        last = self.segments[-1]
        if self._start == len(self.segments) - 1 and self._start_times is not last.times:
            self._start_times.add(max_timestamp_ms)
        self._stored.raise_last(max_timestamp_ms)
        self._live.raise_last(max_timestamp_ms)

    def rolled(self, segment: Segment) -> None:
        """A new, empty segment is the last one now."""
        self.segments.append(segment)
        self._stored.add(BEFORE_EVERY_TIMESTAMP)
        self._live.add(BEFORE_EVERY_TIMESTAMP)

    def first_reaching(self, target_ms: int) -> tuple[Segment, int] | None:
        """The first batch at or after the log start whose header promises a timestamp >= `target_ms` (LO-11)."""
        at = self._live.first_reaching(target_ms)
        if at == len(self.segments):
            return None
        segment = self.segments[at]
        times = self._start_times if at == self._start else segment.times
        return segment, times.first_reaching(target_ms)

    def largest(self) -> tuple[Segment, int] | None:
        """The first batch that has the largest timestamp of all stored ones, or None if nothing is stored (LO-16)."""
        largest_ms = self._stored.largest()
        if largest_ms == BEFORE_EVERY_TIMESTAMP:
            return None
        segment = self.segments[self._stored.first_reaching(largest_ms)]
        return segment, segment.times.first_reaching(largest_ms)


def _times_from(segment: Segment, log_start_offset: int) -> RunningMaximum:
    times = RunningMaximum()
    for batch, base_offset in zip(segment.batches, segment.offsets, strict=True):
        if base_offset >= log_start_offset or last_offset(batch, base_offset) >= log_start_offset:
            times.add(max_timestamp_of(batch))
        else:
            times.add(BEFORE_EVERY_TIMESTAMP)
    return times
