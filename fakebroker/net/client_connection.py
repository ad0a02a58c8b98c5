"""One client's socket, from the moment it is accepted: what `Server` and asyncio do with it, and the engine's driver.

What a turn has to say goes out in one joined write, unless it is much: records are then handed to the socket batch by
batch, no faster than the client reads, so that a slow reader costs a piece and not a copy of its answers.
"""

import asyncio
import socket
from collections import deque
from enum import Enum
from itertools import islice
from struct import pack
from typing import TYPE_CHECKING, cast

from fakebroker.engine.connection import Connection
from fakebroker.engine.connection_state import READING
from fakebroker.engine.withheld import WithheldLink
from fakebroker.listeners import Address, Listener

if TYPE_CHECKING:
    from fakebroker.net.server import Server

MOST_WAITING_BYTES = 256 * 1024  # after a parked request or a long turn, before we stop reading
MOST_UNSENT_BYTES = 64 * 1024  # in asyncio's hands for a slow reader, before we wait with what else there is for it
JOINED_BYTES = 64 * 1024  # more than this is not joined
PIECE_BYTES = MOST_UNSENT_BYTES + 1  # makes asyncio call `pause_writing` unless the socket takes it
PIECES_AT_ONCE = 256  # in a system call; Linux allows 1,024
CAN_GATHER = hasattr(socket.socket, "sendmsg")
FIRST_READ_BYTES = 64 * 1024
CLOSE_WITH_RESET = pack("ii", 1, 0)  # linger: on, for no time


class ClientState(Enum):
    """Where a client's socket is; `TRANSITIONS` has what may follow."""

    ACCEPTED = "the server watches the socket for the first bytes, or for the end of a client that has nothing to say"
    HANDED_OVER = "the first bytes were read, and asyncio is about to have the socket"
    OPEN = "asyncio reads and writes"
    PAUSED = "asyncio writes; nothing is read, because the client does not read or sends faster than it is answered"
    HALF_CLOSED = "the client sends no more; what it sent before is answered"
    CLOSED = "closed, or aborted and about to be; nothing is sent any more"


ACCEPTED, HANDED_OVER, OPEN, PAUSED, HALF_CLOSED, CLOSED = ClientState

TRANSITIONS: dict[ClientState, tuple[ClientState, ...]] = {
    ACCEPTED: (HANDED_OVER, CLOSED),
    HANDED_OVER: (OPEN, CLOSED),
    OPEN: (PAUSED, HALF_CLOSED, CLOSED),
    PAUSED: (OPEN, HALF_CLOSED, CLOSED),
    HALF_CLOSED: (HALF_CLOSED, CLOSED),  # asyncio may say it again
    CLOSED: (CLOSED,),
}


class ClientConnection(WithheldLink, asyncio.Protocol):
    """One client's socket: the driver of one connection of the engine.

    `_state` is where the socket is on its way (`TRANSITIONS`). Three things go their own way beside it:

    - `_is_slow`: the transport's buffer is full (asyncio's pause_writing), so the client does not read.
      While OPEN, this makes it PAUSED at once; it may also be so while HALF_CLOSED.
    - `_unsent`: what the transport was not given because of that. A connection closes after it is empty.
    - `_is_turn_scheduled`: the loop will call `_take_turn`. A turn that was scheduled before the client got slow, or
      before the connection closed, comes up and does nothing.

    Whether the transport is closing only the transport knows (it also closes by itself, when the socket fails).
    """

    def __init__(
        self, server: "Server", listener: Listener, accepted: socket.socket, peer_host: str, peer_port: int = 0
    ) -> None:
        self._server = server
        self._socket = accepted
        self._transport: asyncio.Transport | None = None  # from OPEN on
        self._state = ACCEPTED
        self._is_slow = False
        self._unsent: deque[bytes | memoryview] = deque()
        self._is_turn_scheduled = False
        self._withheld = None  # while nothing gets through (node_links.py)
        self._has_left = False  # without a word, while nothing gets through
        host, port = accepted.getsockname()[:2]
        self._connection: Connection = server.engine.connect(
            listener, "/" + _plain(peer_host), Address(_plain(host), port), server.clock.now(), peer_port
        )
        self._connection.driver = self
        server.joined(self)
        server.watch(accepted, self.read_first)
        server.flush()

    @property
    def node_id(self) -> int:
        """The node that the client is connected to."""
        return self._connection.listener.node_id

    def read_first(self) -> None:
        """Perhaps the first bytes are here, or the end of a client that had nothing to say."""
        if self._state is not ACCEPTED:
            return
        try:
            data = self._socket.recv(FIRST_READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self.abort(f"connection lost: {error}")
            return
        if not data:
            self._left_unheard()
            return
        self._move(HANDED_OVER)
        self._server.hand_over(self._socket, self)
        self.data_received(data)

    def _left_unheard(self) -> None:
        """The client closed before it said anything; while nothing gets through, that does not either."""
        if self._withheld is None:
            self.abort("the client closed the connection")
        else:
            self._has_left = True
            self._server.unwatch(self._socket)

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport = cast("asyncio.Transport", transport)  # in its methods; uvloop's is no subclass
        transport.set_write_buffer_limits(high=MOST_UNSENT_BYTES, low=0)
        if self._state is CLOSED:
            transport.abort()
        else:
            self._move(OPEN)
            self.flush()

    def data_received(self, data: bytes) -> None:
        server = self._server
        if self._withheld is not None:
            self._withheld.receive(data)
            self._update_flow_control()
            return
        self._connection.receive(data, server.clock.now())
        server.flush()

    def eof_received(self) -> bool:
        if self._state is not CLOSED:
            self._move(HALF_CLOSED)
        return (
            self._withheld is not None or self._connection.wants_turn or bool(self._unsent)
        )  # what it sent before is still answered

    def pause_writing(self) -> None:
        self._is_slow = True
        self._update_flow_control()

    def resume_writing(self) -> None:
        self._is_slow = False
        self.flush()

    def connection_lost(self, error: Exception | None) -> None:
        server = self._server
        self._close()
        server.left(self)
        reason = f"connection lost: {error}" if error else "the client closed the connection"
        self._connection.closed(server.clock.now(), reason)
        server.flush()
        if self._transport is not None:
            _untie(self._transport)

    # What the server calls

    def flush(self) -> None:
        """See ConnectionDriver. Before asyncio has the socket everything waits; `connection_made` calls this again."""
        connection, transport = self._connection, self._transport
        if transport is None:
            return
        if self._withheld is not None:
            if self._withheld.loses:
                connection.data_to_send()
            return
        is_much = connection.out_bytes > JOINED_BYTES
        pieces = connection.data_to_send()
        if is_much or self._unsent:
            self._unsent.extend(pieces)
            self._send_unsent(transport)
        elif pieces and not transport.is_closing():
            transport.write(b"".join(pieces))
        if not (connection.state is READING and self._state is OPEN):
            self._update_flow_control()

    def _send_unsent(self, transport: asyncio.Transport) -> None:
        """Write what the socket takes, past the transport, which would copy it; that only gets a piece, so that it
        calls `resume_writing` when the socket takes more.
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
        is_watched = self._state is ACCEPTED
        self._close()
        self._connection.closed(self._server.clock.now(), reason)
        if self._transport is not None:
            self._transport.abort()
        elif is_watched:
            self._server.unwatch(self._socket)
            self._socket.close()
            self._server.left(self)
        # else asyncio is about to have the socket: `connection_made` aborts it

    def leave(self, reason: str) -> None:
        """Close after what was handed to the transport; a client that is slow to read does not get it."""
        if self._transport is None or self._is_slow or self._unsent or self._withheld is not None:
            self.abort(reason)
        else:
            self._connection.closed(self._server.clock.now(), reason)
            self._transport.close()

    def release(self) -> None:
        """What has waited arrives."""
        withheld, self._withheld = self._withheld, None
        if withheld is not None and self._state is not CLOSED:
            for data in withheld.take():
                self._connection.receive(data, self._server.clock.now())
            self.flush()
            if self._has_left:
                self._left_unheard()

    def abandon(self, reason: str) -> None:
        """Close without the loop, which is gone or did not take the connection."""
        self._close()
        self._connection.closed(self._server.clock.now(), reason)
        self._socket.close()
        self._server.left(self)

    def close_copy(self) -> None:
        """Close this process's copy of a socket that another process goes on with."""
        self._socket.close()

    # States

    def _move(self, state: ClientState) -> None:
        assert state in TRANSITIONS[self._state], f"from {self._state.name} to {state.name}"
        self._state = state

    def _close(self) -> None:
        """Whoever closes, and however often; nothing is sent any more."""
        self._state = CLOSED
        self._unsent.clear()

    def _update_flow_control(self) -> None:
        """After anything that is not an ordinary request: close, schedule a turn, stop reading or go on with it."""
        connection, transport = self._connection, self._transport
        if transport is None or transport.is_closing():
            return
        if self._withheld is not None:
            if self._state is OPEN and self._withheld.size_bytes >= MOST_WAITING_BYTES:
                self._move(PAUSED)
                transport.pause_reading()
            return
        wants_turn = connection.wants_turn
        is_done = connection.close_reason is not None or (self._state is HALF_CLOSED and not wants_turn)
        if is_done and not self._unsent:
            if connection.is_to_reset:  # what is sent arrives, then the client's reads fail
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, CLOSE_WITH_RESET)
            transport.close()  # after what is in its own buffer; then asyncio calls `connection_lost`
            return
        if wants_turn and not self._is_turn_scheduled and not self._is_slow:
            self._is_turn_scheduled = True
            self._server.call_soon(self._take_turn)
        is_much = connection.waiting_bytes >= MOST_WAITING_BYTES
        should_read = not (self._is_slow or is_much or connection.is_stalled)
        if self._state is OPEN and not should_read:
            self._move(PAUSED)
            transport.pause_reading()
        elif self._state is PAUSED and should_read:
            self._move(OPEN)
            transport.resume_reading()

    def _take_turn(self) -> None:
        self._is_turn_scheduled = False
        if (
            not self._is_slow and self._state is not CLOSED and self._withheld is None
        ):  # after a reset the connection is another engine's
            self._connection.resume(self._server.clock.now())
            self._server.flush()


def _untie(transport: asyncio.Transport) -> None:
    """Let a lost transport go without the garbage collector, which `serve` runs seldom.

    asyncio's keeps methods of its own in its attributes: a cycle that holds the transport, its buffer, its addresses.
    """
    for name, value in tuple(getattr(transport, "__dict__", {}).items()):
        if getattr(value, "__self__", None) is transport:
            delattr(transport, name)


def _plain(host: str) -> str:
    """An IPv4 address that came in on an IPv6 socket, as the IPv4 address it is."""
    return host.removeprefix("::ffff:")
