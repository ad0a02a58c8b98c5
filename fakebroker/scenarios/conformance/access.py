"""How the broker that is judged is reached: its address, TLS and a login; and a client that asks it."""

from typing import Any, NamedTuple

from fakebroker.client.cluster.cluster_client import ClusterClient
from fakebroker.client.cluster.errors import ClusterError
from fakebroker.client.cluster.links import addresses_of
from fakebroker.client.security import Security
from fakebroker.protocol.errors import InvalidArgument
from fakebroker.protocol.listeners import Address
from fakebroker.protocol.schema.building import built
from fakebroker.protocol.wire.registry import APIS, api

ANSWER_MS = 10_000


class Access(NamedTuple):
    """Where a broker is, and how connections to it are secured."""

    address: Address
    security: Security = Security()


def parsed_address(text: str) -> Address:
    """Host and port of one HOST:PORT. Raises InvalidArgument."""
    found = addresses_of(text)
    if len(found) != 1:
        raise InvalidArgument("address", text, f"{text}: give one broker")
    return found[0]


class BrokerClient(ClusterClient):
    """A client of one broker: what fails is not tried again."""

    def __init__(self, access: Access) -> None:
        super().__init__(
            str(access.address),
            security=access.security,
            client_id="fakebroker-conformance",
            timeout_ms=ANSWER_MS,
            retries=0,
        )
        self._address = access.address

    def get(self, api_name: str, version: int | None = None, /, **fields: Any) -> Any:
        """The answer to a request; without a version in the newest that both speak. Raises ClusterError."""
        return self.exchange_at(self._address, built(api(api_name).request, fields), version, version or 0).result()

    def number_of_brokers(self) -> int:
        """How many brokers it lists. Raises ClusterError."""
        return len(self.get("Metadata", 1, topics=[]).brokers)

    def served(self) -> dict[str, tuple[int, int]]:
        """The lowest and highest version of each API by its name, without unknown APIs. Raises ClusterError."""
        return {APIS[key].name: between for key, between in self.versions().items() if key in APIS}


def is_alive(access: Access) -> bool:
    """Whether the broker still answers ApiVersions."""
    with BrokerClient(access) as client:
        try:
            client.versions()
        except ClusterError:
            return False
    return True
