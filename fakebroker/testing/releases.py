"""Facts about the Kafka releases that a broker can emulate, for tools that judge or plan runs of brokers."""

from collections.abc import Mapping

from fakebroker.broker.engine.dispatch import versions_served
from fakebroker.broker.release import RELEASES, release
from fakebroker.broker.settings import Settings

__all__ = ["RELEASES", "check_settings", "served_by"]


def served_by(name: str) -> Mapping[int, tuple[int, int]]:
    """The API keys that a broker of this release serves, each with its lowest and highest version.

    Raises UnknownThing for a release that no broker emulates.
    """
    return versions_served(release(name))


def check_settings(settings: Mapping[str, object]) -> None:
    """Check names and values of broker settings. Raises SettingError, which says what would be right."""
    Settings(settings)
