"""Regular expressions in scenarios."""

import pytest

from fakebroker.scenarios.language.patterns import is_found, is_pattern


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("b+", "abc", True),
        ("^b", "abc", False),
        ("c$", "abc", True),
        ("^abc$", "abc", True),
        ("a|z", "xyz", True),
        ("(?i)ABC", "xabcx", True),
        ("", "anything", True),
        ("b", "a\nb\nc", True),
        (r"\d{2}-\d", "on 12-3", True),
    ],
)
def test_a_pattern_is_found_anywhere(pattern: str, text: str, expected: bool) -> None:
    """As `re.search` finds it, in texts of several lines, too."""
    assert is_found(pattern, text) is expected


@pytest.mark.parametrize("pattern", ["(", "a)(b", "[", "*a", "a{2,1}", "(?<=a)b"])
def test_what_is_no_pattern(pattern: str) -> None:
    """Also what would be one only inside of another."""
    assert not is_pattern(pattern)


def test_no_pattern_takes_long() -> None:
    """One that would take Python's `re` longer than there is time."""
    assert not is_found("^(a+)+$", "a" * 2000 + "!")
