"""Clients in the same thread as the engine, and time that passes only when it is told to."""

from collections.abc import Callable

from fakebroker.engine.connection import Connection
from fakebroker.engine.engine import Engine
from fakebroker.engine.withheld import Withheld
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
        self._withheld: Withheld | None = None

    def send(self, data: bytes) -> None:
        """Send bytes; whatever the broker answers at once is here when this returns."""
        if self._withheld is None:
            self.connection.receive(data, self._network.now)
            self._network.flush()
        else:
            self._withheld.receive(data)

    def withhold(self) -> None:
        """What is sent from now on waits on the way, in both directions."""
        if self._withheld is None:
            self._withheld = Withheld()

    def release(self) -> None:
        """It arrives."""
        withheld, self._withheld = self._withheld, None
        if withheld is not None:
            for data in withheld.take():
                self.connection.receive(data, self._network.now)
            self._network.engine.to_flush[self.connection] = None

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
        if self._withheld is not None:
            return
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

        Raises ConnectionRefusedError if its node is stopped or killed.
        """
        listener = listener or self.engine.listeners[0]
        node = self.engine.cluster.nodes[listener.node_id]
        if not node.has_process:
            raise ConnectionRefusedError(f"node {node.id} is {node.state}")
        connection = self.engine.connect(listener, client_host, Address(listener.host, listener.port), self.now)
        connection.driver = socket = SimSocket(self, connection)
        if not node.is_running:
            socket.withhold()
        return socket

    def stop_node(self, node_id: int) -> None:
        """Stop one broker: what it has to say at that is still heard, then its connections are closed."""
        self._release(node_id)
        self.engine.cluster.stop_node(node_id, self.now)
        self.flush()
        self._close(node_id, f"node {node_id} was stopped")

    def kill_node(self, node_id: int) -> None:
        """Kill one broker: its connections end without an answer."""
        self._close(node_id, f"node {node_id} was killed")
        self.engine.cluster.kill_node(node_id, self.now)
        self.flush()

    def start_node(self, node_id: int) -> None:
        """Start a broker that was stopped or killed."""
        self.engine.cluster.start_node(node_id, self.now)
        self.flush()

    def restart_node(self, node_id: int) -> None:
        """Start a broker again, which is stopped first if it runs."""
        self.stop_node(node_id)
        self.start_node(node_id)

    def freeze_node(self, node_id: int) -> None:
        """Freeze one broker: what clients send it waits."""
        self.engine.cluster.freeze_node(node_id, self.now)
        self.flush()
        for socket in self._sockets_of(node_id):
            socket.withhold()

    def thaw_node(self, node_id: int) -> None:
        """Wake a frozen broker: it takes up what waits in its sockets first, then its timers run (CLU-40)."""
        self._release(node_id)
        self.engine.cluster.thaw_node(node_id, self.now)
        self.flush()

    def _release(self, node_id: int) -> None:
        for socket in self._sockets_of(node_id):
            socket.release()
        self.flush()

    def _close(self, node_id: int, reason: str) -> None:
        for socket in self._sockets_of(node_id):
            socket.connection.closed(self.now, reason)
        self.flush()

    def _sockets_of(self, node_id: int) -> list[SimSocket]:
        found = [each for each in self.engine.connections.values() if each.listener.node_id == node_id]
        return [each.driver for each in found if isinstance(each.driver, SimSocket)]

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
