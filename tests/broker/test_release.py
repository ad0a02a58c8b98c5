"""Releases: names, version tables, behaviours, defaults."""

import pytest

from fakebroker.broker.release import RELEASES, Behaviours, UnknownRelease, release
from fakebroker.protocol.wire.api_keys import ApiKey


@pytest.mark.parametrize(
    ("name", "full_name"),
    [("2.1", "2.1.1"), ("2.1.1", "2.1.1"), ("2.1.0", "2.1.1"), ("3.9", "3.9.1"), ("4.3", "4.3.1"), (None, "4.3.1")],
)
def test_names(name: str | None, full_name: str) -> None:
    """The first two numbers name a release; without a name it is the newest."""
    assert release(name).name == full_name


@pytest.mark.parametrize("name", ["4", "9.9", "latest", "", "3.9.x", "3.8"])
def test_unknown_names(name: str) -> None:
    """A release we have no table for is refused, and the known ones are listed."""
    with pytest.raises(UnknownRelease, match=r"there are 1\.0\.2, .*, 4\.3\.1"):
        release(name)


@pytest.mark.parametrize("name", RELEASES)
def test_every_release_is_complete(name: str) -> None:
    """Each has versions for the APIs every client needs, and ranges that make sense."""
    versions = release(name).versions
    assert {0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18} <= versions.keys()
    assert all(0 <= low <= high for low, high in versions.values())


@pytest.mark.rules("AV-8", "PD-1", "FT-1")
def test_versions_served() -> None:
    """4.3.1 serves Produce from 3 and Fetch from 4; 3.9.1 from 0; 1.0.2 knows no DeleteGroups."""
    assert (release("4.3").versions[ApiKey.PRODUCE], release("4.3").versions[ApiKey.FETCH]) == ((3, 13), (4, 18))
    assert (release("3.9").versions[ApiKey.PRODUCE], release("3.9").versions[ApiKey.FETCH]) == ((0, 11), (0, 17))
    assert 42 not in release("1.0").versions


def test_the_default_behaviours_are_the_newest() -> None:
    """`Behaviours()` is Kafka 4.3.1."""
    assert release().behaviours == Behaviours()


def test_other_releases_behave_as_the_nearest_newer_one() -> None:
    """There are five sets of behaviours: 2.0, 2.1, 2.8, 3.9, 4.3."""
    assert release("1.1").behaviours is release("2.0").behaviours
    assert release("2.4").behaviours is release("2.8").behaviours
    assert release("3.3").behaviours is release("3.9").behaviours
    assert release("4.0").behaviours is release("4.3").behaviours
    assert len({id(release(name).behaviours) for name in RELEASES}) == 5


def test_defaults_that_changed() -> None:
    """An older release has the defaults of its time."""
    assert release("4.0").defaults == {}
    assert release("3.9").defaults["log.message.timestamp.after.max.ms"] == str(2**63 - 1)
    assert release("2.1").defaults["group.max.session.timeout.ms"] == "300000"
    assert "offsets.retention.minutes" not in release("2.0").defaults
    assert release("1.1").defaults["offsets.retention.minutes"] == "1440"
