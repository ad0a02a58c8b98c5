"""A driver in virtual time: the engine in the same thread, nothing waits."""

from collections.abc import Callable

from fakebroker.client.connection import ClientConnection
from fakebroker.protocol.listeners import Address
from fakebroker.serve.sim.network import SimNetwork
from fakebroker.serve.sim.sim_socket import SimSocket

JITTER_MS = 250  # how far waits of the recorded brokers varied between runs


class SimDriver:
    """Connections to the listeners of a network. Waits are met within the jitter of the recorded broker."""

    keeps_recorded_pace = True

    def __init__(self, network: SimNetwork, jitter_ms: int = JITTER_MS) -> None:
        self._network = network
        self._jitter_ms = jitter_ms
        self._sockets: dict[ClientConnection, SimSocket] = {}
        self._is_acting = False
        self.after_delivery: list[Callable[[], None]] = []  # what clients do with what arrived; called in `pass_time`
        self.alarms: list[Callable[[], int | None]] = []  # when clients do something next by themselves, if ever

    @property
    def wall_ms(self) -> int:
        """The engine's time of day."""
        return self._network.now.wall_ms

    @property
    def mono_ms(self) -> int:
        """The engine's monotonic time."""
        return self._network.now.mono_ms

    def open(self, client: ClientConnection, address: Address | None = None) -> None:
        """Connect `client` to the listener at `address`, the first unless given. Raises ConnectionRefusedError."""
        listeners = self._network.engine.listeners
        at = [each for each in listeners if address in (None, (each.host, each.port))]
        if not at:
            raise ConnectionRefusedError(f"no broker listens on {address}")
        self._sockets[client] = self._network.connect(at[0])

    def control(self, operation: str, node_id: int) -> None:
        """Do something to a broker: stop, kill, restart, freeze or thaw."""
        act: Callable[[int], None] = getattr(self._network, f"{operation}_node")
        act(node_id)
        self._deliver()

    def flush(self, client: ClientConnection) -> None:
        """Send what `client` has queued; answers that the broker gives at once are received before this returns."""
        data = client.data_to_send()
        if client in self._sockets and data:
            self._sockets[client].send(data)
        self._deliver()

    def pass_time(self, ms: int, until: Callable[[], bool] | None = None) -> bool:
        """Move the clock by `ms`, from one due time to the next; stop early when `until` is true."""

        def is_reached() -> bool:
            self.deliver()
            return until is not None and until()

        end_ms = self.mono_ms + ms
        while not self._network.run_until(is_reached, min(end_ms, self._next_alarm_ms(end_ms)) - self.mono_ms):
            if self.mono_ms >= end_ms:
                return False
        return True

    def close(self, client: ClientConnection) -> None:
        """Close the connection of `client`."""
        socket = self._sockets.pop(client, None)
        if socket is not None:
            socket.close()
        client.close("closed by the client")
        self._deliver()

    def close_all(self) -> None:
        """Close every connection."""
        for client in list(self._sockets):
            self.close(client)

    def tolerance_ms(self, waited_ms: int) -> int:  # noqa: ARG002 - the other driver needs it
        """The jitter of the recorded broker, whatever the wait."""
        return self._jitter_ms

    def deliver(self) -> None:
        """Let clients have what has arrived, and do what they do with it; while they do, they are not called again."""
        self._deliver()
        if not self._is_acting:
            self._is_acting = True
            try:
                for act in self.after_delivery:
                    act()
            finally:
                self._is_acting = False

    def _next_alarm_ms(self, latest_ms: int) -> int:
        """The next moment at which a client acts by itself; an alarm of now has been heard, and is in a while."""
        due_ms = [at_ms for at_ms in (alarm() for alarm in self.alarms) if at_ms is not None]
        return max(self.mono_ms + 1, min(due_ms, default=latest_ms))

    def _deliver(self) -> None:
        """Pass received bytes to their clients, and close those whose connection the broker closed."""
        for client, socket in list(self._sockets.items()):
            data = socket.take()
            if data:
                client.receive(data)
            if socket.is_closed:
                del self._sockets[client]
                client.close(f"closed by the broker: {socket.close_reason}")
