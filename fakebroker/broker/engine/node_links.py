"""What is wrong between the clients and single brokers: nobody gets through, nobody gets in, connections gone silent.

All of it is below the engine: bytes wait, vanish or are refused; a request that arrives is served as ever.
"""

from collections.abc import Sequence
from typing import Protocol

FROZEN, UNREACHABLE, ISOLATED = "frozen", "unreachable", "isolated"
REFUSES_CONNECTS, HALF_OPEN = "refuses connects", "half-open"
_SILENT = (FROZEN, UNREACHABLE, ISOLATED)  # bytes wait in both directions, and nobody is accepted


class Link(Protocol):
    """One client's connection, as far as the network between it and its broker is concerned."""

    @property
    def has_lost(self) -> bool:
        """Whether bytes vanish, so that nothing more can come of this connection."""

    def block(self, *, loses: bool = False) -> None:
        """Let nothing through in either direction: what is sent waits, or with `loses` vanishes from now on."""

    def release(self) -> None:
        """What has waited arrives."""

    def abort(self, reason: str) -> None:
        """Close it without sending what is not sent."""


class Links(Protocol):
    """The connections and listeners of all brokers: a server with sockets, or one in virtual time."""

    def clients_of(self, node_id: int) -> Sequence[Link]:
        """The connections of one broker, oldest first."""

    def refuse_clients(self, node_id: int) -> None:
        """Refuse new clients of a broker; its connections go on."""

    def stop_accepting(self, node_id: int) -> None:
        """Take up no new clients of a broker: they wait, connected to nobody."""

    def accept_again(self, node_id: int) -> None:
        """Take up the clients that wait, and all that come."""

    def open_node(self, node_id: int) -> None:
        """Take clients there again, after `refuse_clients`. Raises OSError if a port cannot be had."""


class NodeLinks:
    """The faults of each broker's ports and connections, in the order in which they began."""

    def __init__(self, server: Links) -> None:
        self._server = server
        self._faults: dict[int, dict[str, None]] = {}

    def faults_of(self, node_id: int) -> list[str]:
        """What is wrong with the broker's links now."""
        return list(self._faults.get(node_id, ()))

    def is_silent(self, node_id: int) -> bool:
        """Whether nobody is accepted, and what connected clients send waits."""
        return any(fault in _SILENT for fault in self._faults.get(node_id, ()))

    def begin(self, node_id: int, fault: str) -> None:
        """Let a fault begin; nothing happens if it is there, but that half-open takes the connections made since."""
        if fault in self._faults.get(node_id, ()) and fault != HALF_OPEN:
            return
        server = self._server
        if fault == REFUSES_CONNECTS:
            server.refuse_clients(node_id)
        self._faults.setdefault(node_id, {})[fault] = None
        if fault in _SILENT:
            server.stop_accepting(node_id)
        if fault != REFUSES_CONNECTS:
            for client in server.clients_of(node_id):
                client.block(loses=fault == HALF_OPEN)

    def end(self, node_id: int, fault: str, *, has_process: bool = True) -> None:
        """Let a fault end; nothing happens if it is not there.

        What waited arrives; connections that lost bytes are reset. Raises OSError if a port cannot be had again.
        """
        if fault not in self._faults.get(node_id, ()):
            return
        server = self._server
        if fault == REFUSES_CONNECTS and has_process:
            server.open_node(node_id)
        del self._faults[node_id][fault]
        if fault == HALF_OPEN:
            for client in server.clients_of(node_id):
                if client.has_lost:
                    client.abort("the connection was half-open")
        if not self.is_silent(node_id):
            server.accept_again(node_id)
            for client in server.clients_of(node_id):
                if not client.has_lost:
                    client.release()

    def clear(self) -> None:
        """All links are as new; the clients are gone."""
        self._faults.clear()
