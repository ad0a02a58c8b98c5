"""The listeners of a broker in virtual time, at addresses of their own."""

from collections.abc import Sequence

from fakebroker.protocol.listeners import Listener

HOST, FIRST_PORT = "127.0.0.1", 9092


class SimListeners:
    """The listeners of a network in virtual time, in their order, and the nodes that refuse clients."""

    def __init__(self, listeners: list[Listener]) -> None:
        self.listeners = listeners
        self._refusing: dict[int, None] = {}

    def more(self, listeners: Sequence[Listener]) -> "SimListeners":
        """Listeners for `extend`; those on port 0 get ports that follow those of the listeners that are here."""
        next_port = max([FIRST_PORT - 1, *(listener.port for listener in self.listeners)]) + 1
        for index, listener in enumerate(listeners):
            listener.port = listener.port or next_port + index
        return SimListeners(list(listeners))

    def extend(self, more: "SimListeners") -> None:
        """Take over the listeners of others, which `more` has made."""
        self.listeners += more.listeners

    def keep(self, node_ids: Sequence[int]) -> None:
        """Give up the listeners of all other nodes."""
        self.listeners[:] = [listener for listener in self.listeners if listener.node_id in node_ids]
        self._refusing = {node_id: None for node_id in self._refusing if node_id in node_ids}

    def is_refusing(self, node_id: int) -> bool:
        """Whether a node refuses clients."""
        return node_id in self._refusing

    def refuse(self, node_id: int) -> None:
        """Refuse a node's clients."""
        self._refusing[node_id] = None

    def accept(self, node_id: int) -> None:
        """Take them again."""
        self._refusing.pop(node_id, None)

    def close(self) -> None:
        """Give them up; nothing is bound."""


def listeners_of(node_ids: Sequence[int]) -> list[Listener]:
    """One listener for each node, at ports that follow each other."""
    return [Listener(node_id, HOST, FIRST_PORT + index) for index, node_id in enumerate(node_ids)]
