"""Where clients connect: listeners, and the addresses that answers name."""

from typing import NamedTuple

PLAINTEXT = "PLAINTEXT"
SASL_PLAINTEXT = "SASL_PLAINTEXT"
SSL = "SSL"
SASL_SSL = "SASL_SSL"
PROTOCOLS = (PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL)


class Address(NamedTuple):
    """A host and a port that a client can connect to."""

    host: str
    port: int


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
    def has_sasl(self) -> bool:
        """Whether clients have to log in."""
        return self.protocol.startswith("SASL_")

    @property
    def has_tls(self) -> bool:
        """Whether what passes is encrypted."""
        return self.protocol.endswith("SSL")
