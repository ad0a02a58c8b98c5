"""Acquiring records for a member: which, how many, in which ranges (SGF-11 to SGF-14, SGP-8).

Records acquired before and released come first, by the batches in which they were acquired; then new ones. Kafka:
`SharePartition.acquire`.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from enum import IntEnum
from operator import attrgetter
from typing import NamedTuple

from fakebroker.broker.core.share_partitions.in_flight import InFlightBatch, InFlightState
from fakebroker.broker.core.share_partitions.record_window import RecordWindow
from fakebroker.broker.core.share_partitions.states import RecordState


class AcquireMode(IntEnum):
    """How `max_records` of a ShareFetch is meant (KIP-1206)."""

    BATCH_OPTIMIZED = 0  # rounded up to whole batches (SGF-11)
    RECORD_LIMIT = 1  # at most so many (SGF-13)


class Limits(NamedTuple):
    """What holds for the group: how often a record is delivered, how many may be in the window."""

    delivery_count: int
    window_records: int

    @property
    def throttled_count(self) -> int:
        """Records that were delivered so often come in smaller portions (SGP-8)."""
        return max(2, (self.delivery_count + 1) // 2)

    def is_last_delivery(self, delivery_count: int) -> bool:
        """Whether a record delivered so often is delivered once more, and by itself."""
        return self.delivery_count > 2 and delivery_count == self.delivery_count - 1


class Acquisition(NamedTuple):
    """What a fetch wants of one share partition. `max_records` is what is left of the whole request's."""

    member_id: str
    mode: AcquireMode
    max_records: int
    batch_size: int


class BatchSpan(NamedTuple):
    """A stored batch of the log: its first and last offset."""

    base_offset: int
    last_offset: int


class Acquired(NamedTuple):
    """A range of acquired records, and how often they have been delivered with this time."""

    first_offset: int
    last_offset: int
    delivery_count: int

    @property
    def records(self) -> int:
        """How many they are."""
        return self.last_offset - self.first_offset + 1


def acquire(
    window: RecordWindow, wanted: Acquisition, limits: Limits, fetch_offset: int, read: Sequence[BatchSpan]
) -> list[Acquired]:
    """Acquire records of the batches that were read from `fetch_offset` on; the ranges are in ascending order.

    The window has them when this returns; their locks are set by the caller.
    """
    if not read or wanted.max_records <= 0:
        return []
    return _Acquiring(window, wanted, limits, fetch_offset, read).acquire()


class _Acquiring:
    """One call of `acquire`. `left` is how many records may still be acquired, `last` the last offset of them."""

    def __init__(
        self, window: RecordWindow, wanted: Acquisition, limits: Limits, fetch_offset: int, read: Sequence[BatchSpan]
    ) -> None:
        self.window = window
        self.wanted = wanted
        self.limits = limits
        self.read = read
        self.acquired: list[Acquired] = []
        base = read[0].base_offset
        if fetch_offset < base:  # compaction has left nothing in between
            window.archive_available(fetch_offset, base - 1)
            window.skip_gaps(base)
        self.left, self.last = self._room(fetch_offset)

    def acquire(self) -> list[Acquired]:
        """Take what there is, in order."""
        window, first = self.window, self._first()
        known = window.between(first, self.read[-1].last_offset)
        if not known:
            self._take_new(first, self.last)
            return self.acquired
        for batch in known:
            if self.left <= 0:
                return self.acquired
            if window.gaps and first <= batch.first_offset - 1:
                self._fill_gap(first, batch.first_offset - 1)
            first = max(first, batch.last_offset + 1)
            if self.left <= 0:
                return self.acquired
            throttled = self._is_throttled(batch)
            if throttled and self.acquired:
                return self.acquired
            self._take_known(batch, throttled)
            if throttled:
                return self.acquired
        rest = max(known[-1].last_offset + 1, window.start_offset)
        if rest <= self.last:
            self._take_new(rest, self.last)
        return self.acquired

    def _room(self, fetch_offset: int) -> tuple[int, int]:
        """How many records may be acquired, and up to where: the window is limited (SGF-17)."""
        last, window = self.read[-1].last_offset, self.window
        room = min(self.wanted.max_records, self.limits.window_records - window.span)
        if room > 0 or fetch_offset > window.end_offset:
            return room, last
        # The window is full, but some of its records were released.
        return min(self.wanted.max_records, window.end_offset - fetch_offset + 1), min(last, window.end_offset)

    def _first(self) -> int:
        """Where to begin: at the batch that was read first, or at the acquired one that it lies in."""
        first, window = self.read[0].base_offset, self.window
        floor = window.floor(first)
        if floor is None and first < window.start_offset:
            first = window.start_offset
            floor = window.floor(first)
        return first if floor is None or floor.last_offset < first else floor.first_offset

    # -- records that were acquired before ------------------------------------------------------------------------

    def _available(self, batch: InFlightBatch) -> Iterable[InFlightState]:
        base = self.read[0].base_offset
        return (
            state for first, last, state in batch.states() if state.is_available and last >= base and first <= self.last
        )

    def _is_throttled(self, batch: InFlightBatch) -> bool:
        """Whether a batch has available records that come near the limit of deliveries."""
        throttled_count = self.limits.throttled_count
        return any(state.delivery_count >= throttled_count for state in self._available(batch))

    def _take_known(self, batch: InFlightBatch, throttled: bool) -> None:
        """Acquire what is available of a batch: as a whole if possible."""
        whole = batch.whole
        if whole is not None:
            if not whole.is_available:
                return
            exact = self.wanted.mode is AcquireMode.RECORD_LIMIT and batch.size > self.left
            if not throttled and not exact and batch.lies_within(self.read[0].base_offset, self.last):
                self._add(batch.first_offset, batch.last_offset, whole)
                return
        self._take_single(batch)

    def _take_single(self, batch: InFlightBatch) -> None:
        """Acquire records of a batch one by one, until a limit; ranges of like ones are made of them."""
        if batch.is_large:
            self._take_alike(batch)
            return
        base, limits, counts = self.read[0].base_offset, self.limits, 0
        most = self.left if self.wanted.mode is AcquireMode.RECORD_LIMIT else batch.size
        # As in Kafka the smaller portion is compared only after each record: one that is passed already limits nothing.
        throttle: int | None = None
        for offset, state in batch.split().items():
            if offset < base or offset > self.last or not state.is_available:
                continue
            is_last_delivery = limits.is_last_delivery(state.delivery_count)
            if is_last_delivery and counts:
                return
            if throttle is None and state.delivery_count >= limits.throttled_count:
                throttle = max(1, batch.size >> (state.delivery_count - limits.throttled_count + 1))
            self._add(offset, offset, state, merges=counts > 0)
            counts += 1
            if is_last_delivery or counts in (most, throttle):
                return

    def _take_alike(self, batch: InFlightBatch) -> None:
        """The same of a large batch: all its records have one state, so it is known how many are acquired."""
        limits, whole = self.limits, batch.whole
        assert whole is not None
        first, last = max(batch.first_offset, self.read[0].base_offset), min(batch.last_offset, self.last)
        if self.wanted.mode is AcquireMode.RECORD_LIMIT:
            last = min(last, first + self.left - 1)
        if limits.is_last_delivery(whole.delivery_count):
            last = min(last, first)
        elif whole.delivery_count >= limits.throttled_count:
            portion = max(1, batch.size >> (whole.delivery_count - limits.throttled_count + 1))
            last = min(last, first + portion - 1)
        if first <= last:
            self._take_part(batch, first, last)

    def _take_part(self, batch: InFlightBatch, first: int, last: int) -> None:
        part = self.window.part(batch, first, last)
        assert part.whole is not None
        self._add(first, last, part.whole)

    # -- new records ----------------------------------------------------------------------------------------------

    def _fill_gap(self, first: int, last: int) -> None:
        """Acquire what of a range has no batch since the window was loaded."""
        for low, high in self.window.gaps_between(first, min(last, self.last)):
            self._take_new(low, high)

    def _take_new(self, first: int, last: int) -> None:
        """Acquire records for the first time, as many as may be (SGF-11 to SGF-13)."""
        if self.left <= 0:
            return
        most = first + self.left - 1
        if most < last:
            at = bisect_left(self.read, most, key=attrgetter("last_offset"))
            end = self.read[at].last_offset if at < len(self.read) else most
            last = min(end, last) if self.window.gaps else end
        if self.wanted.mode is AcquireMode.RECORD_LIMIT and most < last:
            self._take_beginning(InFlightBatch(first, last, RecordState.AVAILABLE, 0), most)
            return
        for begin, end in self._ranges(first, last):
            batch = InFlightBatch(begin, end, RecordState.AVAILABLE, 0)
            whole = batch.whole
            assert whole is not None
            self._add(begin, end, whole)
            self.window.put(batch)

    def _take_beginning(self, batch: InFlightBatch, most: int) -> None:
        """Acquire a new batch up to an offset; the rest of it stays available (SGF-13)."""
        self.window.put(batch)
        if batch.is_large:
            self._take_part(batch, batch.first_offset, most)
            return
        for offset, state in batch.split().items():
            if offset <= most:
                self._add(offset, offset, state, merges=offset > batch.first_offset)

    def _ranges(self, first: int, last: int) -> list[tuple[int, int]]:
        """The range in pieces that end where batches do and have at least `batch_size` records (SGF-12)."""
        pieces = []
        if self.wanted.mode is AcquireMode.BATCH_OPTIMIZED:
            begin = bisect_right(self.read, first, key=attrgetter("base_offset"))  # there may be thousands, and of gaps
            end = bisect_right(self.read, last, key=attrgetter("base_offset"))
            for index in range(begin, end):
                base = self.read[index].base_offset
                if base - first >= self.wanted.batch_size:
                    pieces.append((first, base - 1))
                    first = base
        return [*pieces, (first, last)]

    def _add(self, first: int, last: int, state: InFlightState, *, merges: bool = False) -> None:
        """Acquire one state. With `merges` the range goes on with the one before if it was delivered as often."""
        state.acquire(self.wanted.member_id, self.limits.delivery_count)
        self.left -= last - first + 1
        before = self.acquired[-1] if merges else None
        if before is not None and (before.last_offset, before.delivery_count) == (first - 1, state.delivery_count):
            self.acquired[-1] = before._replace(last_offset=last)
        else:
            self.acquired.append(Acquired(first, last, state.delivery_count))
