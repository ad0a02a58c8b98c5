"""Numbers, spans and times in words."""

import pytest

from fakebroker.analysis.pipeline.report.words import counted, moment_text, percent, short, span_text, time_text


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0 ms"),
        (250, "250 ms"),
        (1500, "1.5 s"),
        (59_900, "59.9 s"),
        (90_000, "1 min 30 s"),
        (3_600_000, "1 h"),
        (100 * 3_600_000, "4 d 4 h"),
        (86_400_000 + 1000, "1 d"),
        (None, "unknown"),
    ],
)
def test_spans_are_reported_in_two_units(ms: int | None, text: str) -> None:
    """The two largest units that follow each other, and no more."""
    assert span_text(ms) == text


def test_numbers_are_short() -> None:
    """A cell of a plot has room for a few characters."""
    assert [short(each) for each in (0, 999, 1000, 3400, 12_345, 7_187_301, 2e9)] == [
        "0", "999", "1k", "3.4k", "12k", "7.2M", "2G",
    ]  # fmt: skip


def test_shares_are_reported_with_what_they_need() -> None:
    """Small shares keep two digits, and nothing that is there is called 0."""
    texts = [percent(part, 1000) for part in (0, 0.01, 5, 123, 1000)] + [percent(1, 0)]

    assert texts == ["0 %", "< 0.01 %", "0.5 %", "12 %", "100 %", "0 %"]


def test_one_is_no_plural() -> None:
    """1 group, 2 groups; other plurals are given."""
    assert [counted(1, "group"), counted(2000, "group"), counted(2, "entry", "entries")] == [
        "1 group", "2,000 groups", "2 entries",
    ]  # fmt: skip
    assert time_text(None) == "unknown"
    assert time_text(0) == "1970-01-01 00:00:00"


def test_moments_are_as_precise_as_their_bins() -> None:
    """Milliseconds below a second, no seconds in steps of minutes."""
    texts = [moment_text(1_500, precision) for precision in (100, 1000, 60_000)]

    assert texts == ["1970-01-01 00:00:01.500", "1970-01-01 00:00:01", "1970-01-01 00:00"]
