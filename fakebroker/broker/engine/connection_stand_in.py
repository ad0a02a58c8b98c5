"""What stands in the place of a connection, in the call of a handler (broker/apis/call.py)."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fakebroker.broker.apis.call import Call
from fakebroker.broker.core.security.principals import Principal
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.protocol.listeners import Address


class ConnectionStandIn:
    """Passes on what is the same for whoever stands there: who the client is, and what becomes of its connection."""

    def __init__(self, connection: Any) -> None:
        """`connection` is a Connection, another that stands in for one, or what is left of one."""
        self._connection = connection

    @property
    def connection_id(self) -> int:
        """Which connection of the engine it came on."""
        connection_id: int = self._connection.connection_id
        return connection_id

    @property
    def principal(self) -> Principal:
        """See broker/apis/call.py."""
        principal: Principal = self._connection.principal
        return principal

    @property
    def client_port(self) -> int:
        """See broker/apis/call.py."""
        client_port: int = self._connection.client_port
        return client_port

    @property
    def software(self) -> tuple[str, str]:
        """See broker/apis/call.py."""
        software: tuple[str, str] = self._connection.software
        return software

    @software.setter
    def software(self, software: tuple[str, str]) -> None:
        self._connection.software = software

    def at_end(self, key: object, callback: Callable[[Instant], None]) -> None:
        """Run `callback` when the connection is closed."""
        self._connection.at_end(key, callback)

    def if_unsent(self, callback: Callable[[Instant], None]) -> None:
        """Run `callback` if the answer cannot be made."""
        self._connection.if_unsent(callback)

    def fail(self, reason: str) -> None:
        """The handler closes the connection."""
        self._connection.fail(reason)

    def looked_up(self, call: Call, group_id: str) -> None:
        """The client is told who coordinates a group."""
        self._connection.looked_up(call, group_id)

    def address_of(self, node_id: int) -> "Address | None":
        """Where the client reaches a node."""
        address: Address | None = self._connection.address_of(node_id)
        return address
