"""One client's socket, from the moment it is accepted: it is read and written here, and drives its connection.

What a turn has to say goes out in one joined write, unless it is much: records are then handed to the socket batch by
batch, no faster than the client reads, so that a slow reader costs no copy of its answers.
"""

import logging
import socket
from collections import deque
from collections.abc import Iterable, Sequence
from enum import Enum
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from fakebroker.broker.engine.blocked_link import BlockableLink
from fakebroker.broker.engine.connection import Connection
from fakebroker.broker.engine.connection_state import CLIENT_LEFT, READING
from fakebroker.platform.sockets import CAN_GATHER, CLOSE_WITH_RESET
from fakebroker.protocol.listeners import Address, Listener
from fakebroker.serve.garbage import READ
from fakebroker.serve.net.loop import end_watch_for_end, watch_for_end
from fakebroker.serve.net.unread_answers import MAX_UNREAD_BYTES, held_bytes

if TYPE_CHECKING:
    from fakebroker.serve.net.server import Server

COUNTED_BYTES = 1024  # of one read, for the collector: small requests make garbage that counts by itself
READ_BYTES = 256 * 1024  # at once; the others are read before more is
MAX_WAITING_BYTES = 256 * 1024  # after a parked request or a long turn, before we stop reading
JOINED_BYTES = 64 * 1024  # more than this is not joined
PIECES_AT_ONCE = 256  # in a system call; Linux allows 1,024

log = logging.getLogger("fakebroker")


class ClientState(Enum):
    """Where a client's socket is; `TRANSITIONS` has what may follow."""

    OPEN = "the socket is watched for data"
    PAUSED = "nothing is read, because the client does not read, or sends faster than it is answered, or by a fault"
    HALF_CLOSED = "the client sends no more; what it sent before is answered"
    LOST = "the socket is closed; the engine hears of it in the loop's next round"
    CLOSED = "the socket is closed, and the connection has ended"


OPEN, PAUSED, HALF_CLOSED, LOST, CLOSED = ClientState
ENDED = (LOST, CLOSED)

TRANSITIONS: dict[ClientState, tuple[ClientState, ...]] = {
    OPEN: (PAUSED, HALF_CLOSED, LOST, CLOSED),
    PAUSED: (OPEN, LOST, CLOSED),
    HALF_CLOSED: (LOST, CLOSED),
    LOST: (CLOSED,),
    CLOSED: (),
}


class StreamSocket(Protocol):
    """What is asked of a client's socket, which does not block; with TLS it is a `TlsSocket`."""

    def recv(self, size: int, /) -> bytes:
        """See socket."""

    def send(self, data: bytes | memoryview, /) -> int:
        """See socket."""

    def sendmsg(self, pieces: Sequence[bytes | memoryview], /) -> int:
        """See socket."""

    def setsockopt(self, level: int, option: int, value: int | bytes, /) -> None:
        """See socket."""

    def getsockname(self) -> Any:
        """See socket."""

    def fileno(self) -> int:
        """See socket."""

    def close(self) -> None:
        """See socket."""


class ClientConnection(BlockableLink):
    """One client's socket: the driver of one connection of the engine.

    `_state` is where the socket is on its way (`TRANSITIONS`). It is watched for data in OPEN only. Two things go their
    own way beside it:

    - `_unsent`: what the socket has not taken, because the client does not read. While there is any, nothing is read
      and no turn is taken, as Kafka mutes a channel until its answer is sent; the socket is watched for room. A
      connection closes after it is empty.
    - `_is_turn_scheduled`: the server will call `_take_turn`. A turn that was scheduled before the client got slow, or
      before the connection closed, comes up and does nothing.
    """

    __slots__ = ("_connection", "_is_turn_scheduled", "_recv", "_send", "_server", "_socket", "_state", "_unsent")

    def __init__(
        self, server: "Server", listener: Listener, accepted: StreamSocket, peer_host: str, peer_port: int = 0
    ) -> None:
        """A client has connected, and the engine hears of it; `begin` is next.

        `accepted` must not block; `peer_host` and `peer_port` are the client's address. Raises OSError if the client
        is gone already (on macOS); the engine has not heard of it then.
        """
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        host, port = accepted.getsockname()[:2]
        self._server = server
        self._socket = accepted
        self._recv, self._send = accepted.recv, accepted.send  # looked up once: they are called for every request
        self._state = OPEN
        self._unsent: deque[bytes | memoryview] | None = None  # made when it is needed: it is large
        self._is_turn_scheduled = False
        self._blocked = None  # while nothing gets through (node_links.py)
        self._connection: Connection = server.engine.connect(
            listener, "/" + _as_java(_plain(peer_host)), Address(_plain(host), port), server.clock.now(), peer_port
        )
        self._connection.driver = self
        server.joined(self)
        server.flush()

    @property
    def node_id(self) -> int:
        """The node that the client is connected to."""
        return self._connection.listener.node_id

    def begin(self) -> None:
        """Read what the client has sent already, and from now on whatever comes."""
        self.read()
        if self._state is OPEN:
            self._watch()

    # What is called when the socket is ready

    def read(self) -> None:
        """There is something to read, perhaps: data, the end, or an error."""
        try:
            data = self._recv(READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._end(f"connection lost: {error}")
            return
        if len(data) >= COUNTED_BYTES:
            READ.add(len(data))
        if not data:
            self._read_end()
        elif self._blocked is not None:
            self._blocked.receive(data)
            self._update_flow_control()
        else:
            server = self._server
            self._connection.receive(data, server.clock.now())
            server.flush()
        if len(data) == READ_BYTES and self._state is OPEN:
            self._watch()  # there may be more: again, after the others

    def _read_end(self) -> None:
        """The client sends no more; what it sent before is still answered."""
        self._move(HALF_CLOSED)
        self._server.sockets.remove_reader(self._socket.fileno())
        if self._is_done():
            self._end(CLIENT_LEFT)

    def write(self) -> None:
        """There is room for what the socket did not take."""
        self._server.sockets.remove_writer(self._socket.fileno())
        if self._blocked is None:
            self._send_unsent()
            self._update_flow_control()

    # What the server calls

    def flush(self) -> None:
        """See ConnectionDriver."""
        connection = self._connection
        if self._blocked is not None:
            if self._blocked.loses:
                connection.data_to_send()
            return
        is_much = connection.out_bytes > JOINED_BYTES
        pieces = connection.data_to_send()
        if is_much or self._unsent:
            self._send_pieces(pieces)
        elif pieces:
            self._send_joined(b"".join(pieces))
        if self._unsent or not (connection.state is READING and self._state is OPEN):
            self._update_flow_control()

    def abort(self, reason: str = "the broker was stopped") -> None:
        """Close without sending what is not sent. The engine's consequences are flushed by the caller."""
        if self._state is not CLOSED:
            self._close_socket()
            self._closed(reason)

    def release(self) -> None:
        """What has waited arrives."""
        blocked, self._blocked = self._blocked, None
        if blocked is None or self._state in ENDED:
            return
        for data in blocked.take():
            self._connection.receive(data, self._server.clock.now())
        self._server.flush()
        self._send_unsent()
        self.flush()

    def abandon(self, reason: str) -> None:
        """Close without the loop, which is gone."""
        self._socket.close()
        if self._state is not CLOSED:
            self._closed(reason)

    def close_copy(self) -> None:
        """Close this process's copy of a socket that another process goes on with. The parent's epoll is the child's,
        too: what it watches must be left alone.
        """
        self._socket.close()

    # Sending

    def _send_joined(self, data: bytes) -> None:
        try:
            sent_bytes = self._send(data)
        except (BlockingIOError, InterruptedError):
            sent_bytes = 0
        except OSError as error:
            self._lose(f"connection lost: {error}")
            return
        if sent_bytes < len(data):
            self._send_pieces([memoryview(data)[sent_bytes:]])

    def _send_pieces(self, pieces: Sequence[bytes | memoryview]) -> None:
        """Send what the socket takes, and the rest when it has room, after what is unsent already."""
        if self._unsent:
            self._unsent.extend(pieces)
            self._note_unread(pieces)
        else:
            self._unsent = deque(pieces)
            self._send_unsent()

    def _send_unsent(self) -> None:
        """Send until the socket takes no more; then be called when it does."""
        unsent = self._unsent
        try:
            while unsent:
                pieces = list(islice(unsent, PIECES_AT_ONCE))
                _drop(unsent, self._socket.sendmsg(pieces) if CAN_GATHER else self._send(pieces[0]))
        except (BlockingIOError, InterruptedError):
            self._server.sockets.add_writer(self._socket.fileno(), self.write)
            if self not in self._server.unread:
                self._note_unread(unsent or ())
        except OSError as error:
            self._lose(f"connection lost: {error}")
        else:
            self._forget_unsent()

    def _note_unread(self, pieces: Iterable[bytes | memoryview]) -> None:
        """Have more of an answer counted among what nobody reads; if that is too much, one client is closed."""
        unread, route = self._server.unread, self._connection.route
        is_stored = route is not None and route.has_stored_records
        unread.note(self, held_bytes(pieces, are_stored=is_stored))
        if (client := unread.one_too_many()) is not None:
            client.lose_unread()

    def lose_unread(self) -> None:
        """The client leaves most unread of all, and there is no room for it."""
        reason = f"answers that no client reads take more than {MAX_UNREAD_BYTES} bytes, and most are its own"
        log.warning("closing the connection from %s: %s", self._connection.peer.address, reason)
        self._lose(reason)

    def _forget_unsent(self) -> None:
        self._unsent = None
        self._server.unread.forget(self)

    # States

    def _move(self, state: ClientState) -> None:
        assert state in TRANSITIONS[self._state], f"from {self._state.name} to {state.name}"
        self._state = state

    def _watch(self) -> None:
        self._server.sockets.add_reader(self._socket.fileno(), self.read)

    def _close_socket(self) -> None:
        if self._state is LOST:
            return
        fd = self._socket.fileno()
        self._server.sockets.remove_reader(fd)
        self._server.sockets.remove_writer(fd)
        end_watch_for_end(self._server.sockets, fd)
        self._socket.close()
        self._forget_unsent()

    def _closed(self, reason: str) -> None:
        self._move(CLOSED)
        self._forget_unsent()
        self._connection.closed(self._server.clock.now(), reason)
        self._server.left(self)

    def _end(self, reason: str) -> None:
        """Close, and let others have what comes of it."""
        self.abort(reason)
        self._server.flush()

    def _lose(self, reason: str) -> None:
        """Close amid a flush of the engine, which may not hear of it before that is over."""
        if self._state not in ENDED:
            self._close_socket()
            self._move(LOST)
            self._server.call_soon(partial(self._end, reason))

    def _is_done(self) -> bool:
        """Whether there is nothing more to read, to do and to send."""
        connection = self._connection
        is_idle = not connection.wants_turn and not connection.progress.is_soon_over
        is_ending = connection.close_reason is not None or (self._state is HALF_CLOSED and is_idle)
        return is_ending and not self._unsent and self._blocked is None

    def _update_flow_control(self) -> None:
        """After anything that is not an ordinary request: close, schedule a turn, stop reading or go on with it."""
        connection = self._connection
        if self._state in ENDED:
            return
        if self._blocked is not None:
            self._pause(self._blocked.size_bytes >= MAX_WAITING_BYTES)
            return
        if self._is_done():
            if connection.is_to_reset:  # what is sent arrives, then the client's reads fail
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, CLOSE_WITH_RESET)
            self._lose(CLIENT_LEFT)
            return
        if connection.wants_turn and not self._is_turn_scheduled and not self._unsent:
            self._is_turn_scheduled = True
            self._server.take_later(self._take_turn)
        self._pause(bool(self._unsent) or connection.waiting_bytes >= MAX_WAITING_BYTES or connection.is_stalled)

    def _pause(self, is_paused: bool) -> None:
        """Read nothing, or go on with it."""
        sockets, fd = self._server.sockets, self._socket.fileno()
        if is_paused and self._state is OPEN:
            self._move(PAUSED)
            sockets.remove_reader(fd)
        elif not is_paused and self._state is PAUSED:
            self._move(OPEN)
            end_watch_for_end(sockets, fd)
            self._watch()
        if self._state is PAUSED and self._waits_for_answer():
            watch_for_end(sockets, fd, self._left_while_waiting)

    def _waits_for_answer(self) -> bool:
        """Whether a request is parked, perhaps for days, and nothing else keeps the client."""
        connection = self._connection
        is_parked = connection.is_parked and not connection.progress.is_soon_over
        return is_parked and not self._unsent and self._blocked is None

    def _left_while_waiting(self) -> None:
        """The client of a parked request has closed the connection. What it sent behind that request is not read."""
        if self._state is PAUSED and self._waits_for_answer():
            self._end(CLIENT_LEFT)

    def _take_turn(self) -> None:
        self._is_turn_scheduled = False
        if not self._unsent and self._state not in ENDED and self._blocked is None:
            self._connection.resume(self._server.clock.now())
            self._server.flush()


def _drop(unsent: deque[bytes | memoryview], sent_bytes: int) -> None:
    """Forget what was sent."""
    while unsent and sent_bytes >= len(unsent[0]):
        sent_bytes -= len(unsent.popleft())
    if sent_bytes:
        unsent[0] = memoryview(unsent[0])[sent_bytes:]


def _plain(host: str) -> str:
    """An IPv4 address that came in on an IPv6 socket, as the IPv4 address it is."""
    return host.removeprefix("::ffff:")


def _as_java(host: str) -> str:
    """A client's address as Java writes it, and so ACLs for it (AU-8): `0:0:0:0:0:0:0:1` for `::1`."""
    if ":" not in host:
        return host
    from ipaddress import IPv6Address

    address, _, scope = host.partition("%")
    groups = [f"{int(group, 16):x}" for group in IPv6Address(address).exploded.split(":")]
    return ":".join(groups) + (f"%{scope}" if scope else "")
