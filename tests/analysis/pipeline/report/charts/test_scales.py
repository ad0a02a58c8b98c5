"""Where ticks are, and into which bins time is cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.analysis.pipeline.report.charts.scales import MAX_BINS, apart, bin_ms, count_ticks, time_ticks

DAY_MS = 86_400_000


@given(st.integers(0, 2 * 10**12), st.integers(0, 10**12))
def test_time_is_cut_into_few_bins(first_ms: int, span_ms: int) -> None:
    """However long the time is, there are no more bins than a plot can show."""
    width = bin_ms(first_ms, first_ms + span_ms)

    assert (first_ms + span_ms) // width - first_ms // width <= MAX_BINS


@given(st.integers(0, 2 * 10**12), st.integers(100, 10**12))
def test_ticks_of_time_are_few_and_inside(first_ms: int, span_ms: int) -> None:
    """However long the time is, there is at least one tick in it, and they all differ."""
    ticks = time_ticks(first_ms, first_ms + span_ms)

    assert 1 <= len(ticks) <= 9
    assert all(first_ms <= each.ms <= first_ms + span_ms for each in ticks)
    assert len({(each.ms, each.text) for each in ticks}) == len(ticks)


@pytest.mark.parametrize(
    ("first_ms", "last_ms", "texts"),
    [
        (1000, 1400, ["00:00:01.000 1970-01-01", "00:00:01.050 "]),
        (500, 25_000, ["00:00:05 1970-01-01", "00:00:10 "]),
        (DAY_MS - 7_200_000, DAY_MS + 7_200_000, ["22:00 1970-01-01", "22:30 "]),
        (0, 40 * DAY_MS, ["1970-01-01 ", "1970-01-08 "]),
    ],
)
def test_ticks_are_as_precise_as_their_distance(first_ms: int, last_ms: int, texts: list[str]) -> None:
    """From milliseconds to days; the date stands below the first, and below those of a new day."""
    found = [f"{each.text} {each.date}" for each in time_ticks(first_ms, last_ms)]

    assert found[:2] == texts
    if texts[0].startswith("22:00"):
        assert found[4] == "00:00 1970-01-02"


@given(st.integers(0, 10**15))
def test_counts_have_whole_ticks_from_0(most: int) -> None:
    """The last tick is not below the largest count, and there are six at most."""
    ticks = count_ticks(most)

    assert ticks[0] == 0
    assert ticks[-1] >= max(most, 1)
    assert 2 <= len(ticks) <= 6


def test_texts_without_room_are_left_out() -> None:
    """A text needs room after the one before it that is shown."""
    assert apart([0, 5, 10, 12, 30], 10) == [True, False, True, False, True]
