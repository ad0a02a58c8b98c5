"""Clients in the same thread as the engine, and time that passes only when it is told to."""

from collections.abc import Callable

from fakebroker.engine.connection import Connection
from fakebroker.engine.engine import Engine
from fakebroker.instant import Instant
from fakebroker.listeners import Address, Listener

CLIENT_HOST = "/127.0.0.1"
DAY_MS = 86_400_000


class SimSocket:
    """A client's end of a connection."""

    def __init__(self, network: "SimNetwork", connection: Connection) -> None:
        self.connection = connection
        self._network = network
        self._inbox: list[bytes] = []

    def send(self, data: bytes) -> None:
        """Send bytes; whatever the broker answers at once is here when this returns."""
        self.connection.receive(data, self._network.now)
        self._network.flush()

    def take(self) -> bytes:
        """What has arrived since the last time."""
        data = b"".join(self._inbox)
        self._inbox.clear()
        return data

    def close(self) -> None:
        """Go away."""
        self.connection.closed(self._network.now)
        self._network.flush()

    @property
    def is_closed(self) -> bool:
        """Whether the connection is gone, whoever closed it."""
        return self.connection.close_reason is not None

    def flush(self) -> None:
        """The broker has something for this client, or a turn is wanted, or the broker closes."""
        connection = self.connection
        self._inbox += connection.data_to_send()
        if connection.close_reason is not None:
            connection.closed(self._network.now)
        elif connection.wants_turn:
            connection.resume(self._network.now)


class SimNetwork:
    """The network of one engine, and its only clock: both readings move together."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @property
    def now(self) -> Instant:
        """The moment it is."""
        return self.engine.now

    def connect(self, listener: Listener | None = None, client_host: str = CLIENT_HOST) -> SimSocket:
        """A client connects to a listener, the first unless told otherwise.

        Raises ConnectionRefusedError if its node is stopped.
        """
        listener = listener or self.engine.listeners[0]
        if not self.engine.cluster.nodes[listener.node_id].alive:
            raise ConnectionRefusedError(f"node {listener.node_id} is stopped")
        connection = self.engine.connect(listener, client_host, Address(listener.host, listener.port), self.now)
        connection.driver = socket = SimSocket(self, connection)
        return socket

    def stop_node(self, node_id: int) -> None:
        """Stop one broker: what it has to say at that is still heard, then its connections are closed."""
        self.engine.cluster.stop_node(node_id, self.now)
        self.flush()
        for connection in tuple(self.engine.connections.values()):
            if connection.listener.node_id == node_id:
                connection.closed(self.now, f"node {node_id} was stopped")
        self.flush()

    def start_node(self, node_id: int) -> None:
        """Start a broker that was stopped."""
        self.engine.cluster.start_node(node_id, self.now)
        self.flush()

    def flush(self) -> None:
        """Carry bytes both ways until nobody has anything to say; one step of long work in each round."""
        engine = self.engine
        while engine.to_flush or engine.works:
            engine.flush()
            if engine.works:
                engine.step(self.now)

    def advance(self, ms: int) -> None:
        """Let time pass: from one deadline to the next, so that clients hear of each at its moment."""
        self.run_until(lambda: False, ms)

    def move_wall(self, by_ms: int) -> None:
        """Move the time of day alone, forwards or back; timers of live clients go on as they were."""
        self.engine.move_clock(
            Instant(self.now.wall_ms + by_ms, self.now.mono_ms), "advanced" if by_ms >= 0 else "stepped back"
        )
        self.flush()

    def run_until(self, is_reached: Callable[[], bool], within_ms: int) -> bool:
        """Let time pass until something is so; False if it is not so after `within_ms`."""
        end = self.now.plus(within_ms)
        while not is_reached():
            left_ms = end.mono_ms - self.now.mono_ms
            if left_ms <= 0:
                return False
            self.engine.advance_to(self.now.plus(min(left_ms, self._next_deadline_in_ms())))
            self.flush()
        return True

    def _next_deadline_in_ms(self) -> int:
        """How long until something is due; at least 1 ms, a day if nothing is."""
        wall_due_ms, mono_due_ms = self.engine.next_deadline()
        waits = [DAY_MS]
        if wall_due_ms is not None:
            waits.append(wall_due_ms - self.now.wall_ms)
        if mono_due_ms is not None:
            waits.append(mono_due_ms - self.now.mono_ms)
        return max(1, min(waits))
