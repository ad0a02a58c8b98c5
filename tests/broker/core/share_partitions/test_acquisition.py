"""Which records a member gets: limits, ranges, throttling; without a log."""

import pytest

from fakebroker.broker.core.share_partitions.acquisition import (
    AcquireMode,
    Acquisition,
    BatchSpan,
    Limits,
    acquire,
)
from fakebroker.broker.core.share_partitions.record_window import RecordWindow
from fakebroker.broker.core.share_partitions.states import RecordEvent
from fakebroker.broker.core.share_state.states import StateBatch

Ranges = list[tuple[int, int, int]]


class Reader:
    """A member that reads a log of batches; `limit` is the group's limit of deliveries."""

    def __init__(self, *sizes: int, limit: int = 5, locks: int = 2000, window: RecordWindow | None = None) -> None:
        self.log: list[BatchSpan] = []
        self.append(*sizes)
        self.limits = Limits(limit, locks)
        self.window = window or RecordWindow(0)

    def append(self, *sizes: int) -> None:
        for size in sizes:
            base = self.log[-1].last_offset + 1 if self.log else 0
            self.log.append(BatchSpan(base, base + size - 1))

    def fetch(self, max_records: int = 500, batch_size: int = 500, mode: AcquireMode = AcquireMode(0)) -> Ranges:
        """Acquire from the fetch offset on."""
        offset = self.window.fetch_offset()
        read = [span for span in self.log if span.last_offset >= offset]
        wanted = Acquisition("m", mode, max_records, batch_size)
        return [tuple(each) for each in acquire(self.window, wanted, self.limits, offset, read)]  # type: ignore[misc]

    def exactly(self, max_records: int) -> Ranges:
        """Acquire with a hard limit."""
        return self.fetch(max_records, mode=AcquireMode.RECORD_LIMIT)

    def say(self, event: RecordEvent, first: int, last: int) -> None:
        """Something happens to acquired records of a range."""
        for batch in self.window:
            if batch.last_offset < first or batch.first_offset > last:
                continue
            if not batch.lies_within(first, last):
                batch.split()
            for low, _, state in batch.states():
                if batch.whole is not None or first <= low <= last:
                    state.change(event, self.limits.delivery_count)
        self.window.advance()

    def release(self, first: int, last: int) -> None:
        self.say(RecordEvent.RELEASED, first, last)

    def deliver(self, first: int, last: int, times: int) -> None:
        """Deliver and release records so often that the next time is one more than `times`."""
        for _ in range(times):
            self.fetch()
            self.release(first, last)


@pytest.mark.rules("SGF-11")
def test_a_limit_is_rounded_up_to_a_batch() -> None:
    """New records come up to the end of the batch in which the limit falls."""
    reader = Reader(3, 2, 1)
    assert reader.fetch(2) == [(0, 2, 1)]
    assert reader.fetch(1) == [(3, 4, 1)]
    assert reader.fetch(500) == [(5, 5, 1)]
    assert reader.fetch(500) == []


@pytest.mark.rules("SGF-11")
def test_released_records_come_first() -> None:
    """By the ranges in which they were acquired, as long as the limit is not reached; then new ones."""
    reader = Reader(3, 2, 1)
    reader.fetch(2)
    reader.fetch(1)
    reader.release(0, 4)
    assert reader.fetch(1) == [(0, 2, 2)]
    assert reader.fetch(500) == [(3, 4, 2), (5, 5, 1)]


@pytest.mark.rules("SGF-11")
def test_what_is_available_of_a_range() -> None:
    """Of a range that was released in parts all available records are acquired, whatever the limit."""
    reader = Reader(10)
    reader.fetch()
    reader.release(1, 1)
    reader.release(3, 4)
    assert reader.fetch(1) == [(1, 1, 2), (3, 4, 2)]


@pytest.mark.rules("SGF-12")
@pytest.mark.parametrize(
    ("batch_size", "expected"),
    [
        (1, [(0, 2), (3, 4), (5, 5), (6, 9), (10, 10)]),
        (2, [(0, 2), (3, 4), (5, 9), (10, 10)]),
        (3, [(0, 2), (3, 5), (6, 9), (10, 10)]),
        (5, [(0, 4), (5, 9), (10, 10)]),
        (6, [(0, 5), (6, 10)]),
        (7, [(0, 9), (10, 10)]),
        (10, [(0, 9), (10, 10)]),
        (11, [(0, 10)]),
    ],
)
def test_ranges_have_at_least_so_many_records(batch_size: int, expected: list[tuple[int, int]]) -> None:
    """A range ends where a batch begins and it has enough records; as seen on 4.3.1."""
    acquired = Reader(3, 2, 1, 4, 1).fetch(batch_size=batch_size)
    assert [(first, last) for first, last, _ in acquired] == expected


@pytest.mark.rules("SGF-13")
def test_a_hard_limit() -> None:
    """No record more; the rest of the batch is in flight, and goes to the next fetch before new ones."""
    reader = Reader(5, 5, 5, 5, 5, 5)
    assert reader.exactly(12) == [(0, 11, 1)]
    assert reader.window.end_offset == 14
    assert reader.exactly(5) == [(12, 14, 1), (15, 16, 1)]
    assert reader.exactly(2) == [(17, 18, 1)]
    assert reader.exactly(500) == [(19, 19, 1), (20, 29, 1)]


@pytest.mark.rules("SGF-13")
def test_a_hard_limit_of_released_records() -> None:
    """A range that has more available records than the limit is acquired in part."""
    reader = Reader(5)
    reader.fetch()
    reader.release(0, 4)
    assert reader.exactly(2) == [(0, 1, 2)]
    assert reader.fetch() == [(2, 4, 2)]


@pytest.mark.rules("SGF-17")
def test_the_window_is_full() -> None:
    """Nothing new at the limit, only what was released; a batch is never cut by it."""
    reader = Reader(50, 300, 10, locks=100)
    assert reader.fetch() == [(0, 349, 1)]
    assert reader.fetch() == []
    reader.release(20, 29)
    assert reader.fetch() == [(20, 29, 2)]


@pytest.mark.rules("SGP-8")
def test_near_the_limit_records_come_in_halves() -> None:
    """With limit 5, after three deliveries: half of the range, then what else fits; then one by one."""
    reader = Reader(8)
    reader.deliver(0, 7, 3)
    assert reader.fetch() == [(0, 3, 4)]
    assert reader.fetch() == [(4, 7, 4)]
    reader.release(0, 7)
    assert [reader.fetch() for _ in range(3)] == [[(0, 0, 5)], [(1, 1, 5)], [(2, 2, 5)]]


@pytest.mark.rules("SGP-8")
def test_the_higher_the_limit_the_longer_the_way() -> None:
    """With limit 10 and 17 records: 8, 4, 2, 1 from the fifth delivery on."""
    reader = Reader(16, 1, limit=10)
    reader.deliver(0, 16, 5)
    portions = []
    for _ in range(4):
        (acquired,) = reader.fetch()
        portions.append(acquired)
        reader.release(0, acquired[1])
    assert portions == [(0, 7, 6), (0, 3, 7), (0, 1, 8), (0, 0, 9)]


@pytest.mark.rules("SGP-8")
def test_no_throttling_with_a_low_limit() -> None:
    """With limit 2 the second delivery is as the first."""
    reader = Reader(8, limit=2)
    reader.deliver(0, 7, 1)
    assert reader.fetch() == [(0, 7, 2)]


@pytest.mark.rules("SGP-8")
def test_throttled_records_come_without_others() -> None:
    """A throttled range is not acquired together with ranges before it or behind it, nor with new records."""
    reader = Reader(2, 8, 2)
    reader.fetch(batch_size=1)
    reader.release(2, 9)
    reader.deliver(2, 9, 2)
    reader.release(0, 1)
    reader.release(10, 11)
    reader.append(1)
    assert [reader.fetch() for _ in range(4)] == [
        [(0, 1, 2)],
        [(2, 5, 4)],
        [(6, 9, 4)],
        [(10, 11, 2), (12, 12, 1)],
    ]


@pytest.mark.rules("SGP-8")
def test_throttled_records_inside_of_a_range() -> None:
    """What is before them in their range counts; what is behind fills up."""
    reader = Reader(13)
    reader.fetch()
    reader.release(4, 12)
    reader.deliver(4, 12, 2)
    reader.release(0, 3)
    assert [reader.fetch() for _ in range(3)] == [[(0, 3, 2), (4, 5, 4)], [(6, 11, 4)], [(12, 12, 4)]]


@pytest.mark.rules("SGP-8")
def test_a_portion_that_is_passed_already() -> None:
    """When more records than the portion come before the first throttled one, all of the range is acquired."""
    reader = Reader(5, limit=10)
    reader.fetch()
    reader.release(2, 2)
    reader.deliver(2, 2, 4)
    reader.release(0, 1)
    reader.release(3, 4)
    assert reader.fetch() == [(0, 1, 2), (2, 2, 6), (3, 4, 2)]


@pytest.mark.rules("SGP-8")
def test_the_last_delivery_is_alone() -> None:
    """A record that comes for the last time ends what came before it, and comes by itself."""
    reader = Reader(13)
    reader.fetch()
    reader.release(4, 5)
    reader.fetch()
    reader.release(4, 5)
    reader.fetch()
    reader.release(4, 5)
    assert reader.fetch() == [(4, 5, 4)]
    reader.release(0, 12)
    assert [reader.fetch() for _ in range(4)] == [[(0, 3, 2)], [(4, 4, 5)], [(5, 5, 5)], [(6, 12, 2)]]


@pytest.mark.rules("SGP-3")
def test_gaps_of_a_stored_window() -> None:
    """Records between stored ones were in delivery: they are available, as never delivered, in order with others."""
    window = RecordWindow.stored(0, [StateBatch(2, 2, 2, 1), StateBatch(4, 5, 0, 2), StateBatch(7, 7, 4, 1)])
    reader = Reader(4, 4, 4, window=window)
    assert reader.window.fetch_offset() == 0
    assert reader.fetch() == [(0, 1, 1), (3, 3, 1), (4, 5, 3), (6, 6, 1), (8, 11, 1)]


@pytest.mark.rules("SGP-3")
def test_a_gap_is_acquired_in_part() -> None:
    """What of a gap was not reached is where the next fetch begins."""
    window = RecordWindow.stored(0, [StateBatch(8, 8, 2, 1)])
    reader = Reader(4, 4, 4, window=window)
    assert reader.fetch(1) == [(0, 3, 1)]
    assert reader.window.fetch_offset() == 4
    assert reader.fetch() == [(4, 7, 1), (9, 11, 1)]


@pytest.mark.rules("SGP-3")
def test_a_gap_that_compaction_left() -> None:
    """Where the log has nothing a gap is no reason to wait."""
    window = RecordWindow.stored(0, [StateBatch(4, 4, 0, 1)])
    reader = Reader(window=window)
    reader.log = [BatchSpan(4, 5)]
    assert reader.fetch() == [(4, 4, 2), (5, 5, 1)]
    assert not reader.window.gaps
    assert reader.window.fetch_offset() == 6


@pytest.mark.rules("SGP-2")
def test_the_window_begins_inside_of_a_batch() -> None:
    """Records of a batch before the start are not acquired."""
    reader = Reader(5, 5, window=RecordWindow(2))
    assert reader.fetch() == [(2, 9, 1)]


@pytest.mark.rules("SGP-2", "SGP-3")
def test_the_start_lies_inside_of_a_range() -> None:
    """A range that was loaded, and of which the beginning is finished, goes on with its counts."""
    window = RecordWindow.stored(1, [StateBatch(1, 4, 0, 2)])
    reader = Reader(5, window=window)
    assert reader.fetch() == [(1, 4, 3)]
    reader.say(RecordEvent.ACCEPTED, 1, 2)
    reader.release(3, 4)
    assert reader.fetch() == [(3, 4, 4)]


def test_nothing_is_wanted() -> None:
    """A budget that is used up acquires nothing, nor does a read of nothing."""
    reader = Reader(5)
    assert reader.fetch(0) == []
    assert reader.fetch(-1) == []
    assert acquire(reader.window, Acquisition("m", AcquireMode(0), 1, 1), reader.limits, 0, []) == []
