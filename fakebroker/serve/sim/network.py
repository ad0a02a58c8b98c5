"""Clients in the same thread as the engine, and time that passes only on request."""

from collections.abc import Callable, Sequence
from math import ceil

from fakebroker.broker.core.deadlines import NEVER_MS
from fakebroker.broker.engine import node_process
from fakebroker.broker.engine.clock import BrokerClock
from fakebroker.broker.engine.engine import Engine
from fakebroker.broker.engine.node_links import NodeLinks
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.listeners import Listener
from fakebroker.serve.sim.sim_listeners import SimListeners
from fakebroker.serve.sim.sim_socket import SimSocket

CLIENT_HOST = "/127.0.0.1"
DAY_MS = 86_400_000
_ROUNDING_MS = 0.25  # seconds as floats, times 1000, are never a little less than whole milliseconds


class SimNetwork:
    """The network of one engine at a time, and the machine whose time it runs on. It is the engine's server, as
    `serve/net/server.py` is one with sockets.

    The machine's time is a number of milliseconds that `advance` and `run_until` move. The broker's clock follows it
    (`broker/engine/clock.py`): one that is frozen, or has a rate, does so here as on sockets.
    """

    def __init__(self, listeners: list[Listener], start: Instant) -> None:
        """The machine's two readings begin at `start`. An engine has to be there before anything else is called."""
        self.engine: Engine
        self.ports = SimListeners(listeners)
        self.links = NodeLinks(self)
        self._machine_ms = start.mono_ms
        self._wall_ahead_ms = start.wall_ms - start.mono_ms
        self.clock = BrokerClock(self.flush, os_wall=self._wall_s, os_mono=self._mono_s)
        self._waiting: list[SimSocket] = []  # to be accepted
        self._is_serving = False
        self._is_busy = False

    @classmethod
    def around(cls, engine: Engine) -> "SimNetwork":
        """The network of an engine that was made elsewhere, from its moment on."""
        network = cls(list(engine.listeners), engine.now)
        engine.listeners = network.ports.listeners  # the same list, so that it may grow
        network.prepare(engine)
        network.serve()
        return network

    @property
    def now(self) -> Instant:
        """The moment it is."""
        return self.engine.now

    @property
    def is_busy(self) -> bool:
        """Whether the engine is doing something, which has to be done before time can pass."""
        return self._is_busy

    # Clients

    def connect(self, listener: Listener | None = None, client_host: str = CLIENT_HOST) -> SimSocket:
        """A client connects to a listener, the first unless told otherwise.

        Raises ConnectionRefusedError if its node is stopped or killed, or refuses.
        """
        listener = listener or self.engine.listeners[0]
        node_id = listener.node_id
        if not self._is_serving:
            raise ConnectionRefusedError("the broker is not running")
        if self.ports.is_refusing(node_id):
            node = self.engine.cluster.nodes[node_id]
            raise ConnectionRefusedError(f"node {node_id} {'refuses' if node.has_process else f'is {node.state}'}")
        socket = SimSocket(self, listener, client_host)
        if self.links.is_silent(node_id):
            self._waiting.append(socket)
        else:
            socket.accept()
        return socket

    def clients_of(self, node_id: int) -> list[SimSocket]:
        """The connections of one node, oldest first."""
        return [socket for socket in self._clients() if socket.listener.node_id == node_id]

    def _clients(self) -> list[SimSocket]:
        drivers = [connection.driver for connection in self.engine.connections.values()]
        return [driver for driver in drivers if isinstance(driver, SimSocket)]

    # Serving (`EngineServer`)

    @property
    def is_serving(self) -> bool:
        """Whether clients can connect."""
        return self._is_serving

    def prepare(self, engine: Engine) -> None:
        """Know the engine that will be served; the clock can be moved before that."""
        self.engine = self.clock.engine = engine

    def serve(self) -> None:
        """Accept clients."""
        self._is_serving = True
        self.flush()

    def stop(self) -> None:
        """Close every connection; those that come are refused."""
        self._is_serving = False
        self.drop_clients()
        self._refuse_waiting(lambda _socket: True, "the broker was stopped")
        self.engine.end_works(self.clock.now())

    def use(self, engine: Engine) -> None:
        """Go on with another engine on the same ports; whoever is connected is disconnected."""
        self.drop_clients()
        self.prepare(engine)
        self._carry()

    def drop_clients(self) -> None:
        """Close every connection at once."""
        for socket in self._clients():
            socket.abort("the broker was stopped")

    def close_node(self, node_id: int) -> None:
        """Refuse a node's clients, and close its connections after what is answered already."""
        self._carry()
        self._end_node(node_id, f"node {node_id} was stopped")

    def abort_node(self, node_id: int) -> None:
        """Refuse a node's clients, and close its connections at once."""
        self._end_node(node_id, f"node {node_id} was killed")

    def drop_clients_of(self, node_id: int, reason: str) -> None:
        """Close a node's connections at once; it takes new ones."""
        for socket in self.clients_of(node_id):
            socket.abort(reason)

    def _end_node(self, node_id: int, reason: str) -> None:
        self.drop_clients_of(node_id, reason)
        self.refuse_clients(node_id)

    def refuse_clients(self, node_id: int) -> None:
        """Refuse new clients of a node; its connections go on."""
        self.ports.refuse(node_id)
        self._refuse_waiting(lambda socket: socket.listener.node_id == node_id, f"node {node_id} closed its port")

    def _refuse_waiting(self, is_meant: Callable[[SimSocket], bool], reason: str) -> None:
        meant = [socket for socket in self._waiting if is_meant(socket)]
        self._waiting = [socket for socket in self._waiting if socket not in meant]
        for socket in meant:
            socket.refuse(reason)

    def stop_accepting(self, node_id: int) -> None:
        """Take up no new clients of a node: `connect` sees that nobody gets through."""

    def accept_again(self, node_id: int) -> None:
        """Take up the clients that wait: `flush` does it, after those who were there before."""

    def open_node(self, node_id: int) -> None:
        """Take a node's clients again."""
        self.ports.accept(node_id)

    def open_nodes(self, node_ids: Sequence[int]) -> None:
        """The same for several."""
        for node_id in node_ids:
            self.open_node(node_id)

    def extend_ports(self, more: SimListeners) -> None:
        """Listen at more places."""
        self.ports.extend(more)

    def drop_listeners(self, node_ids: Sequence[int]) -> None:
        """Links are as new, and there are only the listeners of these nodes, which are the first."""
        self.links.clear()
        self._refuse_waiting(lambda socket: socket.listener.node_id not in node_ids, "the node was removed")
        self.ports.keep(node_ids)

    def flush(self) -> None:
        """Take up the clients that wait, unless nobody gets through to their node; then carry bytes."""
        if self._waiting and not self._is_busy:
            accepted = [socket for socket in self._waiting if not self.links.is_silent(socket.listener.node_id)]
            self._waiting = [socket for socket in self._waiting if socket not in accepted]
            for socket in accepted:
                socket.accept()
        self._carry()

    def _carry(self) -> None:
        """Carry bytes both ways until nobody has anything to say; one step of long work in each round.

        Inside of such a step, in which a test may call the broker, only bytes are carried.
        """
        if self._is_busy:
            self._flush_engine()
            return
        self._is_busy = True
        try:
            self._flush_engine()
            while self.engine.to_flush or self.engine.works:  # a step may bring another engine
                self._flush_engine()
                if self.engine.works:
                    self.engine.step(self.now)
        finally:
            self._is_busy = False

    def _flush_engine(self) -> None:
        """Send what the engine has to say."""
        self.engine.flush()

    # Brokers

    def stop_node(self, node_id: int) -> None:
        """Stop one broker: what it has to say at that is still heard, then its connections are closed."""
        node_process.stop(self.engine, self, node_id)
        self.flush()

    def kill_node(self, node_id: int) -> None:
        """Kill one broker: its connections end without an answer."""
        node_process.kill(self.engine, self, node_id)
        self.flush()

    def start_node(self, node_id: int) -> None:
        """Start a broker that was stopped or killed."""
        node_process.start(self.engine, self, node_id)
        self.flush()

    def restart_node(self, node_id: int) -> None:
        """Start a broker again, which is stopped first if it runs."""
        self.stop_node(node_id)
        self.start_node(node_id)

    def freeze_node(self, node_id: int) -> None:
        """Freeze one broker: what clients send it waits."""
        node_process.freeze(self.engine, self, node_id)
        self.flush()

    def thaw_node(self, node_id: int) -> None:
        """Wake a frozen broker: it takes up what waits in its sockets first, then its timers run (CLU-40)."""
        node_process.thaw(self.engine, self, node_id)
        self.flush()

    # Time

    def advance(self, ms: int) -> None:
        """Let time pass: from one deadline to the next, so that clients hear of each at its moment."""
        self.run_until(lambda: False, ms)

    def move_wall(self, by_ms: int) -> None:
        """Move the time of day alone, forwards or back; timers of live clients go on as they were."""
        if by_ms >= 0:
            self.clock.advance(by_ms)
        else:
            self.clock.step_back(-by_ms)

    def run_until(self, is_reached: Callable[[], bool], within_ms: int) -> bool:
        """Let time pass until something is so; False if it is not so after `within_ms`.

        Raises RuntimeError inside of something that the engine does: nothing else can happen before that is done.
        """
        end_ms = self._machine_ms + within_ms
        while not is_reached():
            left_ms = end_ms - self._machine_ms
            if left_ms <= 0:
                return False
            if self._is_busy:
                raise RuntimeError("time cannot pass while the broker works, as in the `run` of a fault")
            self._machine_ms += min(left_ms, self._next_deadline_in_ms())
            self.engine.tick(self.clock.now())
            self.flush()
        return True

    def _next_deadline_in_ms(self) -> int:
        """How long until something is due; at least 1 ms, a day if nothing is."""
        wall_due_ms, mono_due_ms = self.engine.next_deadline()
        wait_s = self.clock.wait_s(
            NEVER_MS if wall_due_ms is None else wall_due_ms, NEVER_MS if mono_due_ms is None else mono_due_ms
        )
        return DAY_MS if wait_s is None else max(1, min(DAY_MS, ceil(wait_s * 1000)))

    def _wall_s(self) -> float:
        return (self._machine_ms + self._wall_ahead_ms + _ROUNDING_MS) / 1000

    def _mono_s(self) -> float:
        return (self._machine_ms + _ROUNDING_MS) / 1000
