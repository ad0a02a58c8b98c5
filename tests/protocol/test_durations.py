"""Durations as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.durations import duration_ms


@pytest.mark.parametrize(
    ("text", "ms"),
    [("250ms", 250), ("10s", 10_000), ("1.5s", 1500), ("3d", 259_200_000), ("1h 10m", 4_200_000), ("1h10m", 4_200_000),
     ("6d 23h", 601_200_000), ("2w", 1_209_600_000), ("0s", 0), (" 5m ", 300_000)],
)  # fmt: skip
def test_durations_have_units(text: str, ms: int) -> None:
    """A duration is a sum of numbers with units."""
    assert duration_ms(text) == ms


@pytest.mark.parametrize(
    "text", ["", "10", "s", "10x", "-1s", "1s 5", "1:30", "10 s", "1e3s", "1h,10m", "9" * 30 + "d"]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    """Without a unit a number says nothing."""
    with pytest.raises(ValueError, match=r"not a duration|too long"):
        duration_ms(text)


@given(st.lists(st.tuples(st.integers(0, 999), st.sampled_from(["ms", "s", "m", "h", "d"])), min_size=1, max_size=5))
def test_a_duration_is_the_sum_of_its_parts(parts: list[tuple[int, str]]) -> None:
    """The parts may come in any order, with or without blanks."""
    texts = [f"{number}{unit}" for number, unit in parts]
    total = sum(map(duration_ms, texts))

    assert duration_ms(" ".join(texts)) == total
    assert duration_ms("".join(texts)) == total
