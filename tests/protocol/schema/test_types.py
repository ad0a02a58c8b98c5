"""Version ranges in Kafka's notation."""

import pytest

from fakebroker.protocol.schema.types import parse_versions


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("0+", [0, 5, 32767], [-1]),
        ("3+", [3, 9], [2]),
        ("2-4", [2, 3, 4], [1, 5]),
        ("7", [7], [6, 8]),
        ("none", [], [0]),
    ],
)
def test_ranges(text: str, inside: list[int], outside: list[int]) -> None:
    """A range includes its ends, an open one everything above; it prints as it was written."""
    versions = parse_versions(text)

    assert all(versions.includes(version) for version in inside)
    assert not any(versions.includes(version) for version in outside)
    assert str(versions) == text


def test_nonsense_is_refused() -> None:
    """What is no range is a ValueError."""
    with pytest.raises(ValueError, match="some"):
        parse_versions("some")
