"""The files and addresses of the host that a broker may read: key stores, and the keys of signed tokens.

Its options name some. Clients name others while it runs, in settings that Kafka lets them alter (KIP-226). A broker
that others control by HTTP without host access reads only the former (SECURITY.md). Whether a file exists is kept from
them, too: what is refused is not looked at.
"""

from collections.abc import Callable, Mapping

ENDS_OF_SETTINGS = (".location", ".url")  # of their names; their values are files and addresses that the broker reads
EMPTY: Mapping[str, object] = {}


class HostReads:
    """What one broker may read: everything, until `limit` is called."""

    def __init__(self, config: Callable[[], Mapping[str, object]] = lambda: EMPTY) -> None:
        """`config` returns the settings that the broker is made with, which may be others after a `restore`."""
        self._config = config
        self._is_limited = False
        self._also: frozenset[str] = frozenset()

    def limit(self, *also: Mapping[str, object]) -> None:
        """From now on, read only what the options name, and what these settings name."""
        self._is_limited = True
        self._also = frozenset(place for config in also for place in _places(config))

    def limit_as(self, other: "HostReads") -> None:
        """Be limited if another broker is. What that one may read by its dynamic settings, this one may read, too."""
        self._is_limited, self._also = other._is_limited, other._also

    def refusal(self, place: str) -> str:
        """Why a file or an address may not be read; "" if it may."""
        if not self._is_limited or not place or place in self._also or place in _places(self._config()):
            return ""
        return (
            f"the broker does not read {place}, which its options do not name: "
            "`fakebroker serve --control-host-access` allows it"
        )


def _places(config: Mapping[str, object]) -> set[str]:
    """The files and addresses that settings name."""
    return {str(value).strip() for name, value in config.items() if name.endswith(ENDS_OF_SETTINGS)}
