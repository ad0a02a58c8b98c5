"""Which versions of which APIs a broker of each release serves."""

from typing import NamedTuple

from fakebroker.protocol.wire.registry import APIS
from fakebroker.testing.releases import RELEASES, served_by


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
        for key, (lowest, highest) in sorted(served_by(name).items())
        for version in range(lowest, highest + 1)
    ]
