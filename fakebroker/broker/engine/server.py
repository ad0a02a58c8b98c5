"""What stands between an engine and all of its clients, for whoever is above both: sockets, or virtual time.

`serve/net/server.py` fulfils it with sockets and an event loop, `serve/sim/network.py` in virtual time. The object
model and the brokers know no more of either than this.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from fakebroker.broker.engine.clock import BrokerClock
from fakebroker.broker.engine.engine import Engine
from fakebroker.broker.engine.node_links import NodeLinks
from fakebroker.protocol.listeners import Listener


class Endpoints(Protocol):
    """Where clients connect, bound or not."""

    listeners: list[Listener]

    def more(self, listeners: Sequence[Listener]) -> "Endpoints":
        """Listeners for `EngineServer.extend_ports`. Raises OSError if a port cannot be had."""

    def close(self) -> None:
        """Give them up."""


class EngineServer(Protocol):
    """Serves one engine at a time. All of it belongs to the engine's thread."""

    clock: BrokerClock
    links: NodeLinks

    @property
    def ports(self) -> Endpoints:
        """Where clients connect."""

    @property
    def is_serving(self) -> bool:
        """Whether clients can connect."""

    def prepare(self, engine: Engine) -> None:
        """Know the engine that will be served; the clock can be moved before that."""

    def use(self, engine: Engine) -> None:
        """Go on with another engine on the same ports; whoever is connected is disconnected."""

    def flush(self) -> None:
        """After the engine did something: send what it has to say, and see when it is needed next."""

    def drop_clients(self) -> None:
        """Close every connection at once."""

    def drop_clients_of(self, node_id: int, reason: str) -> None:
        """Close a broker's connections at once; it takes new ones."""

    def close_node(self, node_id: int) -> None:
        """Refuse a broker's clients, and close its connections after what is answered already."""

    def abort_node(self, node_id: int) -> None:
        """Refuse a broker's clients, and close its connections at once."""

    def open_node(self, node_id: int) -> None:
        """Take a broker's clients again. Raises OSError if a port cannot be had."""

    def open_nodes(self, node_ids: Sequence[int]) -> None:
        """The same for several: all of them, or none."""

    def extend_ports(self, more: Any) -> None:
        """Listen on more ports, which the engine knows; `Endpoints.more` has made them."""

    def drop_listeners(self, node_ids: Sequence[int]) -> None:
        """Links are as new, and there are only the listeners of these brokers, which are the first."""
