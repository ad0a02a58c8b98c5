"""Search by time over a whole log: one running maximum over segments, one inside each segment, one batch at the end.

What lies below the log start does not count for a search (LO-11), so the segment that the log start cuts gets a running
maximum of its own, made on the first search. A batch that it cuts counts with all that its header promises. The largest
timestamp of all does count it (LO-16).
"""

from collections.abc import Iterable

from fakebroker.broker.core.logs.running_maximum import RunningMaximum
from fakebroker.broker.core.logs.segment import Segment
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
        self._cut_times = _times_from(start, log_start_offset) if is_cut else None  # of what is left of the first one
        self._stored = RunningMaximum()  # over segments, whole
        self._live = RunningMaximum()  # over segments, what lies at or after the log start
        for index, segment in enumerate(self.segments):
            self._stored.add(segment.largest_timestamp_ms)
            if index < self._start:
                self._live.add(BEFORE_EVERY_TIMESTAMP)
            elif index == self._start and self._cut_times is not None:
                self._live.add(self._cut_times.largest())
            else:
                self._live.add(segment.largest_timestamp_ms)

    def added(self, max_timestamp_ms: int) -> None:
        """The last segment took a batch with this largest timestamp."""
        if self._cut_times is not None and self._start == len(self.segments) - 1:
            self._cut_times.add(max_timestamp_ms)
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
        times = segment.times if self._cut_times is None or at != self._start else self._cut_times
        return segment, times.first_reaching(target_ms)

    def segment_reaching(self, target_ms: int) -> Segment | None:
        """The segment of that batch."""
        at = self._live.first_reaching(target_ms)
        return self.segments[at] if at < len(self.segments) else None

    def largest(self) -> tuple[Segment, int] | None:
        """The first batch that has the largest timestamp of all stored ones, or None if nothing is stored (LO-16)."""
        segment = self.segment_of_largest()
        return None if segment is None else (segment, segment.times.first_reaching(self._stored.largest()))

    def segment_of_largest(self) -> Segment | None:
        """The segment of that batch."""
        largest_ms = self._stored.largest()
        return None if largest_ms == BEFORE_EVERY_TIMESTAMP else self.segments[self._stored.first_reaching(largest_ms)]


def _times_from(segment: Segment, log_start_offset: int) -> RunningMaximum:
    """What a segment's `times` would be if nothing before the log start counted."""
    first, whole = segment.batch_index_of(log_start_offset), segment.times.maxima
    before_ms = whole[first - 1] if first else BEFORE_EVERY_TIMESTAMP
    times = RunningMaximum()
    times.maxima.extend([BEFORE_EVERY_TIMESTAMP] * first)
    for at in range(first, len(segment.batches)):
        times.add(max_timestamp_of(segment.batches[at]))
        if times.largest() >= before_ms:  # nearly always the first: from here on the maxima are the same
            times.maxima.extend(whole[at + 1 :])
            break
    return times
