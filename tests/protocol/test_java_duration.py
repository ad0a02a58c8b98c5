"""Durations as Java reads them."""

import pytest

from fakebroker.protocol.java_duration import duration_ms


@pytest.mark.rules("SGP-1")
@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("PT1H30M", 5_400_000),
        ("P2DT3S", 172_803_000),
        ("P1D", 86_400_000),
        ("P2DT3H4M5.006S", 183_845_006),
        ("-PT6H", -21_600_000),
        ("+PT6H", 21_600_000),
        ("pt0.5s", 500),
        ("PT3600,5S", 3_600_500),
        ("PT1.S", 1000),
        ("-PT0.5S", -500),
        ("PT1M-3.5S", 56_500),
        ("PT-6H3M", -21_420_000),
        ("-PT-6H+3M", 21_420_000),
        ("P+1D", 86_400_000),
        ("PT0.0009S", 0),
        ("-PT0.0009S", -1),
        ("P106751991167300D", 106_751_991_167_300 * 86_400_000),
        ("PT0000000000000000000000000001S", 1000),
    ],
)
def test_forms(text: str, milliseconds: int) -> None:
    """Signs, a comma, small letters; a rest is rounded down."""
    assert duration_ms(text) == milliseconds


OTHERS = ["", "P", "PT", "P1DT", "1H", "P1Y", "P1H", "PT1D", "P1W", "x", "PT1H ", "PT1H\n", "PT1M1H", "PT.5S", "--PT1S"]
LONG = ["P106751991167301D", "PT9223372036854775808S", f"PT{'9' * 30_000}S"]


@pytest.mark.parametrize("text", [*OTHERS, "PT1.0000000001S", "PT\u0661S"])
def test_what_is_no_duration(text: str) -> None:
    """Java does not read it either."""
    with pytest.raises(ValueError, match="is not a duration such as PT1H30M"):
        duration_ms(text)


@pytest.mark.parametrize("text", LONG)
def test_what_is_too_long(text: str) -> None:
    """It does not fit into 64 bits of seconds."""
    with pytest.raises(ValueError, match="is too long a duration"):
        duration_ms(text)
