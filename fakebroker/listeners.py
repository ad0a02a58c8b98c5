"""Where clients connect: listeners, and the addresses that answers name."""

from typing import NamedTuple


class Address(NamedTuple):
    """A host and a port that a client can connect to."""

    host: str
    port: int


class Listener:
    """Where one node accepts connections, and which dialects are spoken there (DR-6).

    `advertised` is the address in Metadata and FindCoordinator; None means the address the client itself connected to,
    which is right on the host and inside a container network alike. `versions` is what is served here.
    """

    __slots__ = ("advertised", "dialects", "host", "node_id", "port", "versions")

    def __init__(
        self,
        node_id: int,
        host: str,
        port: int,
        advertised: Address | None = None,
        dialects: frozenset[str] = frozenset(),
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port
        self.advertised = advertised
        self.dialects = dialects
        self.versions: dict[int, tuple[int, int]] = {}  # API key -> (lowest, highest); filled in by the engine
