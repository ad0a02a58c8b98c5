"""Rates over a moving window, and buckets of tokens."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.quotas.rates import TokenBucket, Window, WindowedRate

WINDOW = Window(11, 1000)
START_MS = 5_000


@pytest.mark.rules("QU-8")
def test_the_first_value_counts_as_if_ten_seconds_had_passed() -> None:
    """All samples but the present one are taken to be there, so that a short burst is no great rate."""
    rate = WindowedRate(WINDOW)
    rate.record(5000, START_MS)

    assert rate.span_ms(START_MS) == 10_000
    assert rate.per_second(START_MS) == 500
    assert rate.span_ms(START_MS + 400) == 10_400


@pytest.mark.rules("QU-8")
def test_a_full_sample_counts_as_one_of_the_ten() -> None:
    """When the first sample is full, what has passed of it is not added to ten others but to nine."""
    rate = WindowedRate(WINDOW)
    rate.record(1, START_MS)

    assert rate.span_ms(START_MS + 999) == 10_999
    assert rate.span_ms(START_MS + 1000) == 10_000


def test_what_is_older_than_the_window_is_forgotten() -> None:
    """A sample counts until its last value is eleven seconds old."""
    rate = WindowedRate(WINDOW)
    rate.record(1000, START_MS)
    rate.record(1000, START_MS + 900)

    assert rate.per_second(START_MS + 900 + 10_999) > 0
    assert not rate.is_idle(START_MS + 900 + 10_999)
    assert rate.is_idle(START_MS + 900 + 11_000)
    assert rate.per_second(START_MS + 900 + 11_000) == 0


def test_what_is_taken_back_does_not_count() -> None:
    """As of a connection that is not let in."""
    rate = WindowedRate(WINDOW)
    rate.record(7, START_MS)
    rate.record(-7, START_MS)

    assert rate.per_second(START_MS) == 0


@given(st.lists(st.tuples(st.integers(0, 3000), st.integers(1, 1000)), min_size=1, max_size=60))
def test_never_more_than_everything_and_never_less_than_the_last_ten_seconds(steps: list[tuple[int, int]]) -> None:
    """Whatever comes when: the sum behind the rate is between what the last ten seconds had and all there ever was."""
    rate, now_ms, recorded = WindowedRate(WINDOW), START_MS, []
    for pause_ms, value in steps:
        now_ms += pause_ms
        rate.record(value, now_ms)
        recorded.append((now_ms, value))
        total = rate.per_second(now_ms) * rate.span_ms(now_ms) / 1000
        recent = sum(value for at_ms, value in recorded if now_ms - at_ms < 10_000)
        assert recent - 1e-6 <= total <= sum(value for _, value in recorded) + 1e-6
        assert 10_000 <= rate.span_ms(now_ms) < 23_000


@pytest.mark.rules("QU-11")
def test_tokens_come_back_at_the_rate() -> None:
    """A new bucket is full; more may be taken than there are; it never has more than the whole window gives."""
    bucket = TokenBucket(WINDOW)
    assert bucket.tokens(2, START_MS) == 22

    bucket.take(30, 2, START_MS)
    assert bucket.tokens(2, START_MS) == -8
    assert bucket.tokens(2, START_MS + 3000) == -2
    assert bucket.tokens(2, START_MS + 60_000) == 22


def test_a_smaller_quota_is_a_smaller_bucket() -> None:
    """What was saved up for a greater one is lost."""
    bucket = TokenBucket(WINDOW)
    assert bucket.tokens(10, START_MS) == 110
    assert bucket.tokens(1, START_MS) == 11
