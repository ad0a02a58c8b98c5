"""A driver in virtual time: the engine in the same thread, nothing waits."""

from collections.abc import Callable

from fakebroker.apis.call import Address
from fakebroker.client.connection import ClientConnection
from fakebroker.engine.connection import Connection
from fakebroker.engine.engine import Engine

CLIENT_HOST = "/127.0.0.1"
JITTER_MS = 250  # of the brokers that the recordings were made from


class SimDriver:
    """Connections to the first listener of an engine. Waits are met within the jitter of the recorded broker."""

    keeps_recorded_pace = True

    def __init__(self, engine: Engine, jitter_ms: int = JITTER_MS) -> None:
        self._engine = engine
        self._jitter_ms = jitter_ms
        self._lines: dict[ClientConnection, Connection] = {}

    @property
    def wall_ms(self) -> int:
        """The engine's time of day."""
        return self._engine.now.wall_ms

    @property
    def mono_ms(self) -> int:
        """The engine's monotonic time."""
        return self._engine.now.mono_ms

    def open(self, client: ClientConnection) -> None:
        """Connect `client`."""
        listener = self._engine.listeners[0]
        local = Address(listener.host, listener.port)
        self._lines[client] = self._engine.connect(listener, CLIENT_HOST, local, self._engine.now)

    def flush(self, client: ClientConnection) -> None:
        """Hand over what `client` has queued; whatever the broker answers at once comes back at once."""
        data = client.data_to_send()
        line = self._lines.get(client)
        if line is not None and data:
            line.receive(data, self._engine.now)
            self._deliver()

    def pass_time(self, ms: int, until: Callable[[], bool] | None = None) -> bool:
        """Move the clock by `ms`, from one due time to the next; stop early when `until` is true."""
        end = self._engine.now.plus(ms)
        while not (until and until()):
            left_ms = end.mono_ms - self._engine.now.mono_ms
            if left_ms <= 0:
                return False
            step_ms = min(left_ms, self._next_due_in_ms())
            self._engine.advance_to(self._engine.now.plus(step_ms))
            self._deliver()
        return True

    def close(self, client: ClientConnection) -> None:
        """The connection of `client` goes away."""
        line = self._lines.pop(client, None)
        if line is not None:
            line.closed(self._engine.now)
        client.close("closed by the client")
        self._deliver()

    def close_all(self) -> None:
        """Every connection goes away."""
        for client in list(self._lines):
            self.close(client)

    def tolerance_ms(self, waited_ms: int) -> int:  # noqa: ARG002 - the other driver needs it
        """The jitter of the recorded broker, whatever the wait."""
        return self._jitter_ms

    def _next_due_in_ms(self) -> int:
        """How long until something is due; at least 1 ms, a day if nothing is."""
        wall_due_ms, mono_due_ms = self._engine.next_deadline()
        now = self._engine.now
        steps = [86_400_000]
        if wall_due_ms is not None:
            steps.append(wall_due_ms - now.wall_ms)
        if mono_due_ms is not None:
            steps.append(mono_due_ms - now.mono_ms)
        return max(1, min(steps))

    def _deliver(self) -> None:
        """Carry bytes both ways until nobody has anything to say."""
        clients = {line: client for client, line in self._lines.items()}
        while dirty := self._engine.take_dirty():
            for line in dirty:
                client = clients.get(line)
                data = b"".join(line.data_to_send())
                if client is not None and data:
                    client.receive(data)
                if line.close_reason is not None:
                    self._broker_closes(line, client)
                elif line.wants_turn:
                    line.resume(self._engine.now)

    def _broker_closes(self, line: Connection, client: ClientConnection | None) -> None:
        reason = f"closed by the broker: {line.close_reason}"
        line.closed(self._engine.now)
        if client is not None:
            self._lines.pop(client, None)
            client.close(reason)
