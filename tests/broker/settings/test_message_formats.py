"""The values of message.format.version, and the format that each means."""

import pytest

from fakebroker.broker.settings.declare import parse
from fakebroker.broker.settings.message_formats import magic_of
from fakebroker.broker.settings.topics_of_releases import topic_settings
from fakebroker.protocol.errors import SettingError


def is_allowed(line: tuple[int, int], version: str) -> bool:
    try:
        parse(topic_settings(line)["message.format.version"], version)
    except SettingError:
        return False
    return True


@pytest.mark.rules("MS-9")
@pytest.mark.parametrize(
    ("line", "allowed", "refused"),
    [
        ((2, 1), ["0.8.0", "0.9.0.1", "0.10.0-IV1", "2.1", "2.1-IV2", "2.1.1", " 1.1 "], ["2.1-IV3", "2.2", "3.0"]),
        ((2, 8), ["2.8-IV1", "2.7-IV2"], ["2.8-IV2", "2.7-IV3", "3.0"]),
        ((3, 9), ["3.9", "3.7-IV4", "0.11.0-IV2"], ["4.0", "3.9-IV1", "0.10.2-IV1"]),
    ],
)
def test_versions_that_a_release_knows(line: tuple[int, int], allowed: list[str], refused: list[str]) -> None:
    """Its own and older ones, each with as many internal versions as it had; as the releases themselves answered."""
    assert [version for version in allowed if not is_allowed(line, version)] == []
    refused = [*refused, "nonsense", "", "0.9", "0.10", "2", "0.8.3", "2.0-IV9", "0.9.0-IV0"]
    assert [version for version in refused if is_allowed(line, version)] == []


@pytest.mark.rules("MS-9")
@pytest.mark.parametrize(
    ("version", "magic"),
    [("0.8.0", 0), ("0.9.0.1", 0), ("0.10.0-IV0", 1), ("0.10.2", 1), ("0.11.0-IV0", 2), ("1.0", 2), ("3.0-IV1", 2)],
)
def test_the_format_of_a_version(version: str, magic: int) -> None:
    """0 before 0.10.0, 1 before 0.11.0, else 2."""
    assert magic_of(version) == magic
