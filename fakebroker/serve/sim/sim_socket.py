"""A client's end of a connection in virtual time, and the driver of the broker's end."""

from typing import TYPE_CHECKING

from fakebroker.broker.engine.blocked_link import BlockableLink, BlockedBytes
from fakebroker.broker.engine.connection import Connection
from fakebroker.protocol.listeners import Address, Listener

if TYPE_CHECKING:
    from fakebroker.serve.sim.network import SimNetwork


class SimSocket(BlockableLink):
    """One connection of a client. The broker's end is there once the network has accepted it (`accept`).

    What the client sends while the broker does not read (it is frozen or not reached, or a fault stalls it) waits here,
    and so does the end of a client that leaves meanwhile.
    """

    def __init__(self, network: "SimNetwork", listener: Listener, client_host: str) -> None:
        self.listener = listener
        self._network = network
        self._client_host = client_host
        self._connection: Connection | None = None
        self._inbox: list[bytes] = []
        self._unread: list[bytes] = []  # while a fault stalls the connection
        self._blocked = BlockedBytes()  # while nothing gets through, at first until it is accepted
        self._has_left = False
        self._refusal: str | None = None  # why it ended before it was accepted

    # What the client does

    def send(self, data: bytes) -> None:
        """Send bytes; whatever the broker answers at once is here when this returns."""
        if self._blocked is not None:
            self._blocked.receive(data)
        elif self.connection.is_stalled or self._unread:
            self._unread.append(data)
        else:
            self.connection.receive(data, self._network.now)
            self._network.flush()

    def take(self) -> bytes:
        """What has arrived since the last time."""
        data = b"".join(self._inbox)
        self._inbox.clear()
        return data

    def close(self) -> None:
        """Go away. The broker notices when it reads, after what was sent before."""
        self._has_left = True
        if self._connection is not None:
            self._network.engine.to_flush[self._connection] = None
            self._network.flush()

    @property
    def is_closed(self) -> bool:
        """Whether the connection is gone, whoever closed it."""
        return self.close_reason is not None

    @property
    def close_reason(self) -> str | None:
        """Why the connection is gone; None while it is there."""
        return self._refusal if self._connection is None else self._connection.close_reason

    @property
    def connection(self) -> Connection:
        """The broker's end, once it was accepted."""
        assert self._connection is not None, "the connection waits to be accepted"
        return self._connection

    # What the network does

    def accept(self) -> None:
        """The broker takes the connection up, with what the client has sent so far."""
        network, listener = self._network, self.listener
        local_address = Address(listener.host, listener.port)
        self._connection = network.engine.connect(listener, self._client_host, local_address, network.now)
        self._connection.driver = self
        self.release()

    def refuse(self, reason: str) -> None:
        """It was not accepted, and will not be."""
        self._refusal = reason

    def release(self) -> None:
        """What has waited arrives."""
        blocked, self._blocked = self._blocked, None
        if blocked is not None and not self.is_closed:
            self._unread += blocked.take()
            self._network.engine.to_flush[self.connection] = None

    def abort(self, reason: str) -> None:
        """Close it without sending what is not sent."""
        self.connection.closed(self._network.now, reason)

    def flush(self) -> None:
        """See ConnectionDriver. What waits is read in later rounds: other clients go first."""
        connection, blocked = self.connection, self._blocked
        if blocked is not None:
            if blocked.loses:
                connection.data_to_send()
            return
        self._inbox += connection.data_to_send()
        if connection.close_reason is not None:
            connection.closed(self._network.now)
        elif connection.is_stalled:
            return
        elif self._unread:
            data = b"".join(self._unread)
            self._unread.clear()
            connection.receive(data, self._network.now)
        elif connection.wants_turn:
            connection.resume(self._network.now)
        elif self._has_left:
            connection.closed(self._network.now)
