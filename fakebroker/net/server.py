"""Sockets around the engine: one protocol object per client, one timer for all deadlines.

What a turn has to say goes out in one joined write, unless it is much: records are then handed to the socket batch by
batch, no faster than the client reads, so that a slow reader costs a piece and not a copy of its answers.
"""

import asyncio
import logging
import socket
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import cast

from fakebroker.engine.connection import Connection
from fakebroker.engine.connection_state import READING
from fakebroker.engine.engine import Engine
from fakebroker.listeners import Address, Listener
from fakebroker.net.clock import LoopClock
from fakebroker.net.ports import BACKLOG, Ports
from fakebroker.net.preload import Preload

MOST_WAITING_BYTES = 256 * 1024  # behind a parked request or a long turn, before we stop reading
MOST_UNSENT_BYTES = 64 * 1024  # in asyncio's hands for a slow reader, before we wait with what else there is for it
JOINED_BYTES = 64 * 1024  # more than this is not joined
PIECE_BYTES = MOST_UNSENT_BYTES + 1  # makes asyncio call `pause_writing` unless the socket takes it
PIECES_AT_ONCE = 256  # in a system call; Linux allows 1,024
CAN_GATHER = hasattr(socket.socket, "sendmsg")
ACCEPT_AGAIN_AFTER_S = 1
FIRST_READ_BYTES = 64 * 1024
LONGEST_TIMER_S = 86_400.0  # a timer may ring too early; not every loop takes any number

log = logging.getLogger("fakebroker")


class Server:
    """The sockets of all listeners of an engine. `after_flush` is called after everything the engine did.

    From `serve` to `stop` it belongs to one event loop; after that it may serve in another. While it serves, the loop
    has a timer for the next deadline, so that no request is parked for ever; when it does not, it leaves nothing there.
    """

    def __init__(self, ports: Ports, after_flush: Callable[[], None] = lambda: None) -> None:
        self.ports = ports
        self.clock = LoopClock(self._clock_moved)
        self.engine: Engine
        self._after_flush = after_flush
        self._loop: asyncio.AbstractEventLoop
        self._preload = Preload()
        self._is_open = False  # from serve() to stop(): timers may be set
        self._clients: dict[_Client, None] = {}  # whose sockets are not closed yet
        self._handovers: dict[asyncio.Task[None], _Client] = {}
        self._has_turn = False  # the next step of long work is scheduled
        self._timer: asyncio.TimerHandle | None = None
        self._timer_is_for = (-1, -1)

    async def serve(self, engine: Engine) -> None:
        """Accept clients in the running loop. Raises OSError for a port that is taken, RuntimeError as `come_over`."""
        self.come_over()
        self.ports.bind()
        self._preload.prepare()
        self._loop = asyncio.get_running_loop()
        self._is_open = True
        try:
            self.use(engine)
            for listener, bound in zip(engine.listeners, self.ports.sockets, strict=True):
                self._accept_on(bound, listener)
        except BaseException:
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

    def use(self, engine: Engine) -> None:
        """Go on with another engine on the same ports; whoever is connected is disconnected."""
        self.drop_clients()
        self.engine = self.clock.engine = engine
        self._cancel_timer()  # it was the other engine's
        engine.on_work = self._schedule_work
        self.flush()

    def drop_clients(self) -> None:
        """Close every connection at once."""
        for client in tuple(self._clients):
            client.abort()

    async def stop(self) -> None:
        """Give up the ports and close every connection; all of it is done when this returns.

        Closing a connection makes the engine do something, and after that it would have a timer set. The loop may be
        about to end: such a timer would never ring and yet count as the next one. So there are no timers from here on.
        """
        self._is_open = False
        self._preload.stop()
        self._cancel_timer()
        for bound in self.ports.sockets:
            self._loop.remove_reader(bound)
        self.ports.close()
        self.drop_clients()
        self.engine.end_works(self.clock.now())
        self._has_turn = False
        while self._clients:  # one round of the loop with asyncio's transports, some more with others
            await asyncio.sleep(0)
        await asyncio.sleep(0)  # a transport closes its socket after it has told us

    def abandon(self) -> None:
        """Close everything without the loop, which is gone or cannot serve."""
        self._is_open = False
        self._preload.stop()
        self._timer, self._timer_is_for = None, (-1, -1)
        self._handovers.clear()
        self.ports.close()
        for client in tuple(self._clients):
            client.abandon("the broker's event loop was closed")
        self.engine.end_works(self.clock.now())
        self._has_turn = False

    def close_copies(self) -> None:
        """In a forked child: close its copies of the sockets. The parent's go on; nothing is said to anybody."""
        self._is_open = False
        self._preload.stop()
        self._timer, self._timer_is_for = None, (-1, -1)
        self._handovers.clear()
        self.ports.close()
        for client in self._clients:
            client.close_copy()
        self._clients.clear()

    def flush(self) -> None:
        """After the engine did something: carry away what it has to say, and see when it is needed next."""
        engine = self.engine
        engine.flush()
        due_ms = engine.next_wakeup_hint()
        if due_ms != self._timer_is_for:
            self._set_timer(due_ms)
        self._after_flush()

    def call_soon(self, action: Callable[[], None]) -> None:
        """Run `action` when the other clients have had their turns."""
        self._loop.call_soon(action)

    def _schedule_work(self) -> None:
        if not self._has_turn:
            self._has_turn = True
            self.call_soon(self._work)

    def _work(self) -> None:
        """One step of long work in each round of the loop."""
        self._has_turn = False
        if self.engine.works:
            self.engine.step(self.clock.now())
            self.flush()
        if self.engine.works:
            self._schedule_work()

    def joined(self, client: "_Client") -> None:
        """A client connected."""
        self._clients[client] = None

    def left(self, client: "_Client") -> None:
        """A client's connection is gone, and nothing more comes from its transport."""
        self._clients.pop(client, None)

    def watch(self, accepted: socket.socket, on_readable: Callable[[], None]) -> None:
        """Call `on_readable` when the first bytes of a client are here."""
        self._loop.add_reader(accepted, on_readable)

    def unwatch(self, accepted: socket.socket) -> None:
        """Do not call any more."""
        self._loop.remove_reader(accepted)

    def hand_over(self, accepted: socket.socket, client: "_Client") -> None:
        """From now on asyncio reads and writes the socket."""
        self.unwatch(accepted)
        task = self._loop.create_task(self._hand_over(accepted, client))
        self._handovers[task] = client
        task.add_done_callback(self._handed_over)

    async def _hand_over(self, accepted: socket.socket, client: "_Client") -> None:
        await self._loop.connect_accepted_socket(lambda: client, accepted)

    def _handed_over(self, task: asyncio.Task[None]) -> None:
        client = self._handovers.pop(task, None)
        if client is not None and (task.cancelled() or task.exception() is not None):
            client.abandon("the event loop did not take the connection")

    def _accept_on(self, bound: socket.socket, listener: Listener) -> None:
        if bound in self.ports.sockets:
            self._loop.add_reader(bound, self._accept, bound, listener)

    def _accept(self, bound: socket.socket, listener: Listener) -> None:
        """Clients connected. asyncio's own servers would take some rounds of the loop before they read from one, in
        which a request that another client sent later could be taken up before its first. What came earlier was taken
        up before this (loop.py).
        """
        for _ in range(BACKLOG):
            try:
                accepted, peer = bound.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:  # no file descriptors left, most likely
                log.warning("cannot accept a client: %s", error)
                self._preload.finish()
                self._loop.remove_reader(bound)
                self._loop.call_later(ACCEPT_AGAIN_AFTER_S, self._accept_on, bound, listener)
                return
            accepted.setblocking(False)
            self._preload.begin(self._loop)
            _Client(self, listener, accepted, *peer[:2]).read_first()

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


class _Client(asyncio.Protocol):
    """One client's socket: watched until its first bytes are here, then asyncio's."""

    def __init__(
        self, server: Server, listener: Listener, accepted: socket.socket, peer_host: str, peer_port: int = 0
    ) -> None:
        self._server = server
        self._socket = accepted
        self._transport: asyncio.Transport | None = None
        self._is_handed_over = False
        self._is_aborted = False
        host, port = accepted.getsockname()[:2]
        self._connection: Connection = server.engine.connect(
            listener, "/" + _plain(peer_host), Address(_plain(host), port), server.clock.now(), peer_port
        )
        self._connection.driver = self
        self._is_ordinary = True  # reading, and the client has not ended
        self._is_reading = True
        self._is_at_end = False  # the client sends no more
        self._is_slow = False  # the client does not read what we send
        self._has_turn = False  # a turn is scheduled
        self._unsent: deque[bytes | memoryview] = deque()  # only while the client is slow
        server.joined(self)
        server.watch(accepted, self.read_first)
        server.flush()

    def read_first(self) -> None:
        """Perhaps the first bytes are here, or the end of a client that had nothing to say."""
        if self._is_handed_over or self._is_aborted:
            return
        try:
            data = self._socket.recv(FIRST_READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self.abort(f"connection lost: {error}")
            return
        if not data:
            self.abort("the client closed the connection")
            return
        self._is_handed_over = True
        self._server.hand_over(self._socket, self)
        self.data_received(data)

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport = cast("asyncio.Transport", transport)  # in its methods; uvloop's is no subclass
        transport.set_write_buffer_limits(high=MOST_UNSENT_BYTES, low=0)
        if self._is_aborted:
            transport.abort()
        else:
            self.flush()

    def data_received(self, data: bytes) -> None:
        server = self._server
        self._connection.receive(data, server.clock.now())
        server.flush()

    def eof_received(self) -> bool:
        self._is_at_end, self._is_ordinary = True, False
        return self._connection.wants_turn or bool(self._unsent)  # what it sent before is still answered

    def pause_writing(self) -> None:
        self._is_slow = True
        self._update_flow_control()

    def resume_writing(self) -> None:
        self._is_slow = False
        self.flush()

    def connection_lost(self, error: Exception | None) -> None:
        server = self._server
        self._unsent.clear()
        server.left(self)
        reason = f"connection lost: {error}" if error else "the client closed the connection"
        self._connection.closed(server.clock.now(), reason)
        server.flush()

    # What the server calls

    def flush(self) -> None:
        """Send what there is to send; then see whether to close, to take another turn, to read on."""
        connection, transport = self._connection, self._transport
        if transport is None:  # asyncio is about to have it
            return
        is_much = connection.out_bytes > JOINED_BYTES
        pieces = connection.data_to_send()
        if is_much or self._unsent:
            self._unsent.extend(pieces)
            self._send_unsent(transport)
        elif pieces and not transport.is_closing():
            transport.write(b"".join(pieces))
        if not (connection.state is READING and self._is_ordinary):
            self._update_flow_control()

    def _send_unsent(self, transport: asyncio.Transport) -> None:
        """Write what the socket takes, past the transport, which would copy it; that only gets a piece, so that it
        tell when the socket takes more.
        """
        while self._unsent and not self._is_slow:
            if transport.is_closing():
                self._unsent.clear()
                return
            if not transport.get_write_buffer_size():
                self._send_to_socket()
            if self._unsent:
                transport.write(self._next_piece())

    def _send_to_socket(self) -> None:
        """Some pieces in one system call. What goes wrong the transport will meet, too, and deal with it."""
        pieces = list(islice(self._unsent, PIECES_AT_ONCE))
        try:
            sent_bytes = self._socket.sendmsg(pieces) if CAN_GATHER else self._socket.send(pieces[0])
        except OSError:
            return
        unsent = self._unsent
        while unsent and sent_bytes >= len(unsent[0]):
            sent_bytes -= len(unsent.popleft())
        if sent_bytes:
            unsent[0] = memoryview(unsent[0])[sent_bytes:]

    def _next_piece(self) -> bytes | memoryview:
        """The beginning of what is unsent, more than the transport takes without asking us to pause if there is."""
        unsent = self._unsent
        together: list[bytes | memoryview] = []
        room_bytes = PIECE_BYTES
        while unsent and room_bytes > 0:
            piece = unsent.popleft()
            if len(piece) > room_bytes:
                piece = memoryview(piece)
                unsent.appendleft(piece[room_bytes:])
                piece = piece[:room_bytes]
            together.append(piece)
            room_bytes -= len(piece)
        return together[0] if len(together) == 1 else b"".join(together)

    def abort(self, reason: str = "the broker was stopped") -> None:
        """Close without sending what is not sent."""
        self._is_aborted = True
        self._unsent.clear()
        self._connection.closed(self._server.clock.now(), reason)
        if self._transport is not None:
            self._transport.abort()
        elif not self._is_handed_over:
            self._server.unwatch(self._socket)
            self._socket.close()
            self._server.left(self)

    def abandon(self, reason: str) -> None:
        """Close without the loop, which is gone or did not take the connection."""
        self._is_aborted = True
        self._connection.closed(self._server.clock.now(), reason)
        self._socket.close()
        self._server.left(self)

    def close_copy(self) -> None:
        """Close this process's copy of a socket that another process goes on with."""
        self._socket.close()

    def _update_flow_control(self) -> None:
        """Something is not as usual: a request is parked, frames wait, the client is slow or sends no more."""
        connection, transport = self._connection, self._transport
        if transport is None or transport.is_closing():
            return
        wants_turn = connection.wants_turn
        if not self._unsent and (connection.close_reason is not None or (self._is_at_end and not wants_turn)):
            transport.close()
            return
        if wants_turn and not self._has_turn and not self._is_slow:
            self._has_turn = True
            self._server.call_soon(self._take_turn)
        should_read = not self._is_slow and connection.waiting_bytes < MOST_WAITING_BYTES
        if should_read != self._is_reading:
            self._is_reading = should_read
            if should_read:
                transport.resume_reading()
            else:
                transport.pause_reading()
        self._is_ordinary = should_read and not self._is_at_end

    def _take_turn(self) -> None:
        self._has_turn = False
        if not self._is_slow:
            self._connection.resume(self._server.clock.now())
            self._server.flush()


def _plain(host: str) -> str:
    """An IPv4 address that came in on an IPv6 socket, as the IPv4 address it is."""
    return host.removeprefix("::ffff:")
