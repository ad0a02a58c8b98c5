"""Which versions of which APIs a broker of each release serves."""

from typing import NamedTuple

from fakebroker.broker.engine.dispatch import versions_served
from fakebroker.broker.release import RELEASES, release
from fakebroker.protocol.wire.registry import APIS


class ServedVersion(NamedTuple):
    """One version of one API of one release."""

    release: str
    api: str
    api_key: int
    version: int


def served_versions() -> list[ServedVersion]:
    """Those of all releases, some thousands."""
    return [
        ServedVersion(name, APIS[key].name, key, version)
        for name in RELEASES
        for key, (lowest, highest) in sorted(versions_served(release(name)).items())
        for version in range(lowest, highest + 1)
    ]
