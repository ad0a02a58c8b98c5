"""Tests of the running maximum."""

from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.logs.running_maximum import RunningMaximum
from fakebroker.protocol.records.search import BEFORE_EVERY_TIMESTAMP

times = st.lists(st.integers(-3, 30), max_size=30)


@given(times, st.integers(-4, 31))
def test_finds_the_first_that_reaches(timestamps: list[int], target: int) -> None:
    """The first entry with a timestamp >= the target is found, in whatever order the timestamps come."""
    index = RunningMaximum()
    for timestamp in timestamps:
        index.add(timestamp)

    assert index.first_reaching(target) == next(
        (n for n, timestamp in enumerate(timestamps) if timestamp >= target), len(timestamps)
    )
    assert index.largest() == max(timestamps, default=BEFORE_EVERY_TIMESTAMP)


def test_last_entry_can_grow() -> None:
    """A segment's entry follows its largest timestamp, and never falls."""
    index = RunningMaximum()
    index.add(5)
    index.add(BEFORE_EVERY_TIMESTAMP)
    index.raise_last(3)
    assert index.first_reaching(6) == 2

    index.raise_last(9)
    assert index.first_reaching(6) == 1
    index.truncate(1)
    assert index.largest() == 5
