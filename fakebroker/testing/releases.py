"""Facts about the Kafka releases that a broker can emulate and their settings, for what plans, judges or reads runs."""

from collections.abc import Mapping

from fakebroker.broker.release import RELEASES, UnknownRelease, nearest_release, release
from fakebroker.broker.settings import PROFILES, Settings

__all__ = [
    "PROFILES",
    "RELEASES",
    "Settings",
    "UnknownRelease",
    "check_settings",
    "nearest_release",
    "release",
    "served_by",
]


def served_by(name: str) -> Mapping[int, tuple[int, int]]:
    """The API keys that a broker of this release serves, each with its lowest and highest version.

    Raises UnknownThing for a release that no broker emulates.
    """
    from fakebroker.broker.engine.dispatch import versions_served

    return versions_served(release(name))


def check_settings(settings: Mapping[str, object]) -> None:
    """Check names and values of broker settings. Raises SettingError, which says what would be right."""
    Settings(settings)
