"""Where clients connect: listeners, and the addresses that answers name."""

from collections.abc import Sequence
from typing import Final, NamedTuple

PLAINTEXT = "PLAINTEXT"
SASL_PLAINTEXT = "SASL_PLAINTEXT"
SSL = "SSL"
SASL_SSL = "SASL_SSL"
PROTOCOLS = (PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL)

EVERY_HOST: Final = ("", "0.0.0.0", "::")  # what a listener at every address of its machine may have as its host


class Address(NamedTuple):
    """A host and a port that a client can connect to."""

    host: str
    port: int

    def __str__(self) -> str:
        """HOST:PORT, an IPv6 host in brackets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Listener:
    """Where one node accepts connections, and which dialects are spoken there (DR-6).

    `advertised` is the address in Metadata and FindCoordinator; None means the address the client itself connected to,
    which is right on the host and inside a container network alike. `versions` is what is served here.

    `protocol` is its security protocol, one of `PROTOCOLS`, or "" until the broker's settings say it; `name` is what
    its settings are called by: `listener.name.<name>.sasl.enabled.mechanisms`, or "" until the settings say it.
    """

    __slots__ = ("advertised", "dialects", "host", "name", "node_id", "port", "protocol", "versions")

    def __init__(
        self,
        node_id: int,
        host: str,
        port: int,
        advertised: Address | None = None,
        dialects: frozenset[str] = frozenset(),
        protocol: str = "",
        name: str = "",
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port
        self.advertised = advertised
        self.dialects = dialects
        self.protocol = protocol
        self.name = name or protocol
        self.versions: dict[int, tuple[int, int]] = {}  # API key -> (lowest, highest); filled in by the engine

    @property
    def is_everywhere(self) -> bool:
        """Whether it accepts connections at every address of its machine."""
        return self.host in EVERY_HOST

    @property
    def has_sasl(self) -> bool:
        """Whether clients have to log in."""
        return self.protocol.startswith("SASL_")

    @property
    def has_tls(self) -> bool:
        """Whether what passes is encrypted."""
        return self.protocol.endswith("SSL")


def listener_settings(listeners: Sequence[Listener], protocols: str) -> dict[str, str]:
    """The settings that say where a broker listens, as it would have them in its file of properties.

    `protocols` is the value of listener.security.protocol.map; names that it does not have are added.
    """
    plain = [each for each in listeners if not each.dialects]
    found: dict[str, str] = {}
    if plain:
        found["listeners"] = ",".join(_url(each.name, each.host, each.port) for each in plain)
    if any(each.advertised for each in plain):
        found["advertised.listeners"] = ",".join(
            _url(each.name, *(each.advertised or (each.host, each.port))) for each in plain
        )
    known = {pair.partition(":")[0].strip() for pair in protocols.split(",")}
    missing = dict.fromkeys(f"{each.name}:{each.protocol}" for each in plain if each.name not in known)
    if missing:
        found["listener.security.protocol.map"] = ",".join([*filter(None, [protocols]), *missing])
    return found


def _url(name: str, host: str, port: int) -> str:
    return f"{name}://[{host}]:{port}" if ":" in host else f"{name}://{host}:{port}"
