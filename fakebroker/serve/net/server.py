"""Sockets around the engine: one protocol object per client (client_connection.py), one timer for all deadlines."""

import asyncio
import logging
import socket
from collections import deque
from collections.abc import Callable, Collection, Sequence
from functools import cached_property, partial
from time import monotonic, time
from typing import TYPE_CHECKING, Any

from fakebroker.broker.engine.clock import BrokerClock
from fakebroker.broker.engine.engine import Engine
from fakebroker.broker.engine.node_links import NodeLinks
from fakebroker.broker.settings import Settings
from fakebroker.protocol.errors import SettingError
from fakebroker.protocol.listeners import Listener
from fakebroker.protocol.pace import STEP_S
from fakebroker.serve.host_reads import ENDS_OF_SETTINGS, HostReads
from fakebroker.serve.net.client_connection import ClientConnection
from fakebroker.serve.net.loop import SocketWatcher, tell_no_more, tell_when_late, watcher_of
from fakebroker.serve.net.ports import Ports
from fakebroker.serve.net.preload import Preload
from fakebroker.serve.net.unread_answers import UnreadAnswers

if TYPE_CHECKING:
    from fakebroker.serve.net.tls.contexts import TlsContexts

ACCEPT_AGAIN_AFTER_S = 1
LONGEST_TIMER_S = 86_400.0  # a timer may ring too early; not every loop takes any number

log = logging.getLogger("fakebroker")


class Server:
    """The sockets of all listeners of an engine. `after_flush` is called after everything the engine did.

    From `serve` to `stop` it belongs to one event loop; after that it may serve in another. While it serves, the loop
    has a timer for the next deadline, so that no request is parked for ever; when it does not, it leaves nothing there.
    """

    def __init__(self, ports: Ports, after_flush: Callable[[], None] = lambda: None) -> None:
        self.ports = ports
        self.clock = BrokerClock(self._clock_moved, os_wall=time, os_mono=monotonic)
        self.engine: Engine
        self.host_reads = HostReads()
        self._after_flush = after_flush
        self._loop: asyncio.AbstractEventLoop
        self.sockets: SocketWatcher  # calls when those of listeners and clients are ready
        self._preload = Preload()
        self._is_open = False  # from serve() to stop(): timers may be set
        self._clients: dict[ClientConnection, None] = {}  # whose sockets are not closed yet
        self.unread = UnreadAnswers[ClientConnection]()
        self.links = NodeLinks(self)
        self._has_turn = False  # the next step of long work is scheduled
        self._turns: deque[Callable[[], None]] = deque()  # of clients that sent more than one turn takes up
        self._has_turns = False  # they are scheduled
        self._timer: asyncio.TimerHandle | None = None
        self._timer_is_for = (-1, -1)

    async def serve(self, engine: Engine) -> None:
        """Accept clients in the running loop. Raises OSError for a port that is taken, RuntimeError as `come_over`."""
        self.come_over()
        self.ports.bind()
        self._preload.prepare()
        self._loop = asyncio.get_running_loop()
        self.sockets = watcher_of(self._loop)
        tell_when_late(self.sockets, self._set_late)
        self._is_open = True
        try:
            self.use(engine)
            for index in range(len(engine.listeners)):
                self._accept_index(index)
        except BaseException:
            self._stop_watching_ports()  # the loop goes on, and may get sockets of the same numbers
            self.abandon()
            raise

    @property
    def is_serving(self) -> bool:
        """Whether clients can connect: from `serve` to the beginning of `stop`, or to the end of the loop."""
        return self._is_open and not self._loop.is_closed()

    def come_over(self) -> None:
        """Be free for the running loop: what another one left open when it was closed is closed.

        Raises RuntimeError if it is still at work in another loop.
        """
        if not (self._is_open or self._clients) or self._loop is asyncio.get_running_loop():
            return
        if not self._loop.is_closed():
            raise RuntimeError("the broker runs in another event loop; stop it there first")
        self.abandon()

    def prepare(self, engine: Engine) -> None:
        """Know the engine that will be served; the clock can be moved before that."""
        self.engine = self.clock.engine = engine
        engine.cluster.timers.passes.stopwatch = monotonic
        engine.cluster.check_listeners = self._check_listeners

    def use(self, engine: Engine) -> None:
        """Go on with another engine on the same ports; whoever is connected is disconnected."""
        self.drop_clients()
        self.prepare(engine)
        self._cancel_timer()  # it was the other engine's
        engine.on_work = self._schedule_work
        self.flush()

    def drop_clients(self) -> None:
        """Close every connection at once."""
        for client in tuple(self._clients):
            client.abort()

    def drop_clients_of(self, node_id: int, reason: str) -> None:
        """Close a node's connections at once; it takes new ones."""
        for client in self.clients_of(node_id):
            client.abort(reason)

    def clients_of(self, node_id: int) -> "list[ClientConnection]":
        """The connections of one node, oldest first."""
        return [client for client in self._clients if client.node_id == node_id]

    def close_node(self, node_id: int) -> None:
        """Refuse clients at a node's ports, which stay ours, and close its connections.

        What is answered already is still sent, unless the client is slow to read. Also while it does not serve: then
        from the next `serve` on.
        """
        if self.is_serving:
            self.flush()
            for client in self.clients_of(node_id):
                client.abort(f"node {node_id} was stopped")
        self.refuse_clients(node_id)

    def abort_node(self, node_id: int) -> None:
        """The same for a node that was killed: nothing that is not sent yet is sent."""
        for client in self.clients_of(node_id):
            client.abort(f"node {node_id} was killed")
        self.refuse_clients(node_id)

    def refuse_clients(self, node_id: int) -> None:
        """Refuse new clients at a node's ports, which stay ours; its connections go on."""
        self.stop_accepting(node_id)
        for index in self._indexes_of(node_id):
            if not self.ports.is_refusing(index):
                self.ports.refuse(index)

    def stop_accepting(self, node_id: int) -> None:
        """Take up no new clients of a node: they wait, connected to nobody."""
        if self.is_serving:
            for index in self._indexes_of(node_id):
                if not self.ports.is_refusing(index):
                    self.sockets.remove_reader(self.ports.sockets[index].fileno())

    def accept_again(self, node_id: int) -> None:
        """Take up the clients that wait, and all that come."""
        if self.is_serving:
            for index in self._indexes_of(node_id):
                self._accept_index(index)

    def extend_ports(self, more: Ports) -> None:
        """Listen on more ports, which the engine knows; `Ports.more` has bound them."""
        first = len(self.ports.listeners)
        self.ports.extend(more)
        if self.is_serving:
            for index in range(first, len(self.ports.listeners)):
                self._accept_index(index)

    def drop_listeners(self, node_ids: Sequence[int]) -> None:
        """Links are as new, and there are only the listeners of these nodes, which are the first."""
        self.links.clear()
        count = sum(listener.node_id in node_ids for listener in self.ports.listeners)
        for index in range(count, len(self.ports.listeners)):
            if self.is_serving and not self.ports.is_refusing(index):
                self.sockets.remove_reader(self.ports.sockets[index].fileno())
        self.ports.drop(count)
        if self.is_serving:
            for index in range(count):
                self._accept_index(index)

    def open_node(self, node_id: int) -> None:
        """Take clients there again. Raises OSError, and goes on refusing, if another process has a port."""
        self.open_nodes([node_id])

    def open_nodes(self, node_ids: Sequence[int]) -> None:
        """The same for several: all of them, or none."""
        indexes = [index for node_id in node_ids for index in self._indexes_of(node_id)]
        refusing = [index for index in indexes if self.ports.is_refusing(index)]
        try:
            for index in refusing:
                self.ports.accept(index)
        except OSError:
            for index in refusing:
                self.ports.refuse(index)
            raise
        if self.is_serving:
            for index in refusing:
                self._accept_index(index)

    def _indexes_of(self, node_id: int) -> list[int]:
        """The node's listeners by their positions in the list, those that refuse clients as well."""
        return [index for index, listener in enumerate(self.ports.listeners) if listener.node_id == node_id]

    async def stop(self) -> None:
        """Give up the ports and close every connection; all of it is done when this returns.

        Closing a connection makes the engine do something, and after that it would have a timer set. The loop may be
        about to end: such a timer would never ring and yet count as the next one. So there are no timers from here on.
        """
        self._is_open = False
        tell_no_more(self.sockets, self._set_late)
        self._preload.stop()
        self._cancel_timer()
        self._stop_watching_ports()
        self.ports.close()
        self.drop_clients()
        self.engine.end_works(self.clock.now())
        self._has_turn = False
        self._turns.clear()
        await asyncio.sleep(0)  # turns and ends that were scheduled come up, and find nothing to do

    def _stop_watching_ports(self) -> None:
        for index, bound in enumerate(self.ports.sockets):
            if not self.ports.is_refusing(index):
                self.sockets.remove_reader(bound.fileno())

    def abandon(self) -> None:
        """Close everything without the loop, which is gone or cannot serve."""
        self._close_own()
        for client in tuple(self._clients):
            client.abandon("the broker's event loop was closed")
        self.engine.end_works(self.clock.now())
        self._forget_turns()

    def close_copies(self) -> None:
        """In a forked child: close its copies of the sockets. The parent's go on; nothing is said to anybody."""
        self._close_own()
        for client in self._clients:
            client.close_copy()
        self._clients.clear()
        self._forget_turns()

    def _forget_turns(self) -> None:
        """The loop that would have taken them is gone, or another process's."""
        self._has_turn = self._has_turns = False
        self._turns.clear()

    def _close_own(self) -> None:
        """What is not a client's: timer, ports, what was to be loaded."""
        self._is_open = False
        self._preload.stop()
        self._cancel_timer()
        self.ports.close()

    def flush(self) -> None:
        """After the engine did something: send what it has to say, and see when it is needed next."""
        engine = self.engine
        engine.flush()
        due_ms = engine.next_wakeup_hint()
        if due_ms != self._timer_is_for:
            self._set_timer(due_ms)
        self._after_flush()

    def call_soon(self, action: Callable[[], None]) -> None:
        """Run `action` when the other clients have had their turns."""
        self._loop.call_soon(action)

    def take_later(self, turn: Callable[[], None]) -> None:
        """Have one more turn of a client when the other clients have had theirs."""
        self._turns.append(turn)
        self._schedule_turns()

    def _schedule_turns(self) -> None:
        if not self._has_turns:
            self._has_turns = True
            self.call_soon(self._take_turns)

    def _take_turns(self) -> None:
        """The turns that have waited longest, for STEP_S; then new requests and long work are seen to."""
        self._has_turns = False
        ends_s = monotonic() + STEP_S
        try:
            for _ in range(len(self._turns)):
                self._turns.popleft()()
                if monotonic() > ends_s:
                    break
        finally:  # whatever goes wrong with one, the others go on
            if self._turns:
                self._schedule_turns()

    def _set_late(self, is_late: bool) -> None:
        self.engine.set_late(is_late)

    def _schedule_work(self) -> None:
        if not self._has_turn:
            self._has_turn = True
            self.call_soon(self._work)

    def _work(self) -> None:
        """One step of long work in each round of the loop."""
        self._has_turn = False
        try:
            if self.engine.works:
                self.engine.step(self.clock.now())
                self.flush()
        finally:  # whatever goes wrong with one, the others go on
            if self.engine.works:
                self._schedule_work()

    def joined(self, client: ClientConnection) -> None:
        """A client connected."""
        self._clients[client] = None

    def left(self, client: ClientConnection) -> None:
        """A client's connection is gone, and nothing more comes from its transport."""
        self._clients.pop(client, None)

    def _accept_index(self, index: int) -> None:
        """Take up the clients of one listener, unless it refuses them or nobody gets through to its node."""
        if not self.ports.is_refusing(index):
            self._accept_on(self.ports.sockets[index], self.ports.listeners[index])

    def _accept_on(self, bound: socket.socket, listener: Listener) -> None:
        if bound in self.ports.sockets and not self.links.is_silent(listener.node_id):
            self.sockets.add_reader(bound.fileno(), partial(self._accept, bound, listener))

    def _accept(self, bound: socket.socket, listener: Listener) -> None:
        """Clients connected. What one has sent already is read at once, before a request that another client sent
        after it; what came earlier was taken up before this (loop.py).
        """
        ends_s = monotonic() + STEP_S
        while monotonic() <= ends_s:
            try:
                accepted, peer = bound.accept()
            except ConnectionAbortedError:
                continue
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:  # no file descriptors left, most likely
                log.warning("cannot accept a connection: %s", error)
                self._preload.finish()
                self.sockets.remove_reader(bound.fileno())
                self._loop.call_later(ACCEPT_AGAIN_AFTER_S, self._accept_on, bound, listener)
                return
            self._take_up(accepted, peer, listener)
        self._accept_on(bound, listener)  # there may be more, after the others

    def _take_up(self, accepted: socket.socket, peer: tuple[Any, ...], listener: Listener) -> None:
        """A client has connected from the address `peer`."""
        accepted.setblocking(False)
        self._preload.begin(self._loop)
        make = ClientConnection if not listener.has_tls else _tls_connection()
        try:
            client = make(self, listener, accepted, *peer[:2])
        except SettingError as error:
            log.warning("cannot accept connections on the listener %s: %s", listener.name, error)
            accepted.close()
        except OSError:  # gone already
            accepted.close()
        else:
            client.begin()

    @cached_property
    def tls(self) -> "TlsContexts":
        """Keys and certificates of the listeners with TLS."""
        from fakebroker.serve.net.tls.contexts import TlsContexts

        return TlsContexts(lambda node_id: self.engine.cluster.nodes[node_id].settings, self.host_reads)

    def _check_listeners(self, node_id: int, settings: Settings, altered: Collection[str]) -> None:
        """Raises SettingError for altered settings with which a listener could not speak TLS.

        So it does for those that name what the broker may not read, even if no listener would now: after another start
        one may.
        """
        dynamic = settings.dynamic(cluster=False)
        for name in altered:
            if name.endswith(ENDS_OF_SETTINGS) and (refusal := self.host_reads.refusal(dynamic.get(name, ""))):
                raise SettingError(f"{name}: {refusal}")
        for listener in self.engine.listeners:
            if listener.has_tls and listener.node_id == node_id:
                self.tls.check(listener, settings, altered)

    def _set_timer(self, due_ms: tuple[int, int]) -> None:
        """One timer of the loop for the next deadline. It may ring too early, never too late: moving it costs."""
        if not self._is_open:
            return
        self._timer_is_for = due_ms
        wait_s = self.clock.wait_s(*due_ms)
        if wait_s is None:
            return
        at = self._loop.time() + min(wait_s, LONGEST_TIMER_S)
        if self._timer is not None:
            if self._timer.when() <= at:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(at, self._on_timer)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_is_for = None, (-1, -1)

    def _clock_moved(self) -> None:
        self._cancel_timer()
        self.flush()

    def _on_timer(self) -> None:
        self._cancel_timer()
        self.engine.tick(self.clock.now())
        self.flush()


def _tls_connection() -> type[ClientConnection]:
    """The class of clients that speak TLS."""
    from fakebroker.serve.net.tls.tls_connection import TlsClientConnection

    return TlsClientConnection
