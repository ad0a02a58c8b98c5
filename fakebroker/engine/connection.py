"""One client's connection: frames in, answers out, in request order (AV-1..AV-4, AV-11).

Like Kafka, a connection has one request in work at a time: while a request is parked the next frame is not read
(AV-2), so answers are in order without a queue. At most `REQUESTS_PER_TURN` requests are taken up per turn; the
driver gives the next turn when the other connections have had theirs.
"""

import logging
from collections.abc import Callable, Generator
from contextlib import suppress
from struct import Struct
from typing import TYPE_CHECKING, Any

from fakebroker.apis.call import Call, Steps
from fakebroker.engine.dispatch import Dispatcher, Route
from fakebroker.engine.journal import Connected, Disconnected, Frame, Peer
from fakebroker.engine.printable import LINE_CHARACTERS, printable
from fakebroker.engine.unserved import who
from fakebroker.engine.work import Work
from fakebroker.errors import AnswerTooLong, CloseConnection, ErrorCode, KafkaError, WireError
from fakebroker.instant import Instant
from fakebroker.listeners import Address, Listener
from fakebroker.wire.frame import client_id_of, decode_request_header
from fakebroker.wire.framing import LARGE_BYTES, flattened, guess_protocol

if TYPE_CHECKING:
    from fakebroker.engine.engine import Engine
    from fakebroker.schema import Message

REQUESTS_PER_TURN = 64
MOST_OUT_BYTES = 1024 * 1024  # of large answers in one turn
MOST_FRAME_BYTES = 2**31 - 1  # what its length prefix can say
SMALLEST_FRAME_BYTES = 10  # key, version, correlation id, length of the client id

log = logging.getLogger("fakebroker")

_SIZE = Struct(">i")
_PREFIXES = [_SIZE.pack(size_bytes) for size_bytes in range(512)]
_head = Struct(">ii4xh").unpack_from  # frame size; API key and version as one number; the client id's length
_HEAD_BYTES = 4 + SMALLEST_FRAME_BYTES


class _Gone:
    """In the place of a closed connection, and of whatever drove it: what is asked of it has no effect."""

    def flush(self) -> None:
        """There is nothing to carry."""

    def answer(self, call: Call, _response: "Message | None") -> None:
        """Nobody is there to read it."""
        call.is_answered = True

    def watch(self, _call: Call, _callback: Callable[[Instant], None]) -> None:
        """It has gone already, and who had asked before was told."""

    def work(self, _call: Call, steps: Steps[Any], _must_finish: bool) -> None:
        """Nobody waits for what the steps would give."""
        steps.close()

    def fail(self, _reason: str) -> None:
        """It is closed."""

    def not_served(self, _call: Call, _what: str) -> None:
        """It waits for nothing any more."""

    def looked_up(self, _call: Call, _group_id: str) -> None:
        """It will not ask that coordinator."""

    def address_of(self, _node_id: int) -> None:
        """A client that has gone reaches nothing."""


_GONE = _Gone()


class Connection:
    """What the engine knows of one client. The driver (net or sim) feeds it and carries away what it has to say."""

    def __init__(
        self, engine: "Engine", listener: Listener, peer: Peer, local_address: Address, dispatcher: Dispatcher
    ) -> None:
        self.engine = engine
        self.listener = listener
        self.peer = peer
        self.local_address = local_address  # the address on our side that the client connected to
        self.close_reason: str | None = None  # set: send what there is to send, then close
        self.is_parked = False  # a request waits for its answer
        self.driver: Any = None  # whatever drives this connection; the engine does not look at it
        self.is_dirty = False
        self.out_bytes = 0  # of large answers made and not handed over; many end the turn
        self.is_quiet = True  # nothing is parked, kept for later or wrong: the next bytes begin a frame
        self.is_gone = False
        self._dispatcher = dispatcher
        self._pieces: list[bytes] = []  # received and not yet taken up; the first from _position on
        self._position = 0
        self._buffered_bytes = 0
        self._wanted_bytes = 4  # no turn makes sense before this many are there
        self._out: list[bytes] = []
        self._raw_client_id = b""  # with its length, as it came; compared before it is decoded
        self._is_turn_over = False
        self._route: Route | None = None  # of the request in work, as are the next two
        self._frame = b""
        self._request: Message | None = None
        self._received = engine.now
        self._watchers: list[Callable[[Instant], None]] = []
        self._call = self._new_call()
        engine.journal.event(Connected(peer), engine.now)

    # What the driver calls

    def receive(self, data: bytes, now: Instant) -> None:
        """Bytes came in. What is due runs first, then whole frames are taken up."""
        self.engine.tick(now)
        if self.is_quiet:
            try:
                self._turn(data, 0, now)
            except Exception as error:
                self._on_internal_error(error)
        elif self.close_reason is None:
            self._pieces.append(data)
            self._buffered_bytes += len(data)
            if self.wants_turn:
                self.resume(now)
            else:
                self.engine.mark_dirty(self)  # the driver may have to stop reading

    def resume(self, now: Instant) -> None:
        """The next turn for frames that are already here."""
        self.engine.tick(now)
        if self.wants_turn:
            try:
                self._turn(*self._input(), now)
            except Exception as error:
                self._on_internal_error(error)

    @property
    def wants_turn(self) -> bool:
        """Whether frames are here that may be taken up now."""
        return not self.is_parked and self.close_reason is None and self._buffered_bytes >= self._wanted_bytes

    @property
    def parked_call(self) -> Call | None:
        """The request that waits for its answer, or None."""
        return self._call if self.is_parked else None

    @property
    def waiting_bytes(self) -> int:
        """How many bytes wait behind a parked request or for the next turn; not those of an incomplete frame."""
        return self._buffered_bytes if self.is_parked or self.wants_turn else 0

    def data_to_send(self) -> list[bytes]:
        """The pieces to write, in order; they are handed over."""
        out, self._out, self.out_bytes = self._out, [], 0
        return out

    def closed(self, now: Instant, reason: str = "the client closed the connection") -> None:
        """The connection is gone, whoever closed it. What a parked request had asked to be told of is told."""
        if self.is_gone:
            return
        self.is_gone = True
        self.is_quiet = False
        self.close_reason = self.close_reason or reason
        self._drop_input()
        self._out.clear()
        self.engine.forget(self)
        self.engine.journal.event(Disconnected(self.peer, self.close_reason), now)
        watchers, self._watchers = self._watchers, []
        for callback in watchers:
            self.engine.run(callback, now)
        self._drop_request()
        # Not in a cycle with driver and call any more: all of it goes now, not when the collector comes by.
        self.driver = self._call.connection = _GONE

    # What a call asks of its connection

    def answer(self, call: Call, response: "Message | None") -> None:
        """The answer of the request in work, which is `call`; None: it gets none."""
        self._answered(call)
        if self.is_gone or self._route is None:
            return
        self._send_reply(self._route, response)
        self._unpark(call)

    def work(self, call: Call, steps: Steps[Any], must_finish: bool) -> None:
        """The request in work is long: its next steps are taken in turn with others."""
        self.engine.begin(Work(self, call, self._in_steps(call, steps), must_finish))

    def watch(self, call: Call, callback: Callable[[Instant], None]) -> None:
        """Run `callback` if the connection goes away before `call` is answered."""
        if not call.is_answered:
            self._watchers.append(callback)

    def fail(self, reason: str) -> None:
        """Stop reading; the driver closes after the answers that are already made."""
        if self.close_reason is None:
            self.close_reason = reason
            self.is_quiet = False
            self._is_turn_over = True
            client = who(self._call.client_id, self.peer)
            log.warning("closing the connection from %s: %s", client, printable(reason, LINE_CHARACTERS))
            self._drop_input()
            self.engine.mark_dirty(self)

    def not_served(self, call: Call, what: str) -> None:
        """The client of `call` asked for something that is not there; `what` begins with the API's name."""
        self.engine.unserved.warn(call.client_id, self.peer, call.api_key, what)

    def looked_up(self, call: Call, group_id: str) -> None:
        """The client of `call` learns who coordinates a group."""
        self.engine.unserved.looked_up(call.client_id, self.peer, group_id)

    def address_of(self, node_id: int) -> Address | None:
        """Where this client reaches a node: that node's listener of the kind that the client came in on."""
        listener = self.engine.sibling(self.listener, node_id)
        if listener is None:
            return None
        return listener.advertised or Address(self.local_address.host, listener.port)

    # Long requests, and those answered later

    def _in_steps(self, call: Call, steps: Steps[Any]) -> Generator[None, None, None]:
        """All of the request in work from its second step on: the handler's steps, then those of writing the answer."""
        route, response = self._route, None
        assert route is not None
        try:
            response = yield from steps
            if call.is_answered or self.is_gone:
                return
            self._send(route, None if response is None else (yield from route.encode_in_steps(response)))
            self._answered(call)
        except Exception as error:
            if not self.is_gone:
                assert self._request is not None
                self._failed(route, self._request, error if response is None else route.fault_of(response, error))
            elif not isinstance(error, CloseConnection | KafkaError):
                self.engine.failed(error)
        if not self.is_gone:
            self._unpark(call)

    def _answered(self, call: Call) -> None:
        if call.is_answered:
            raise RuntimeError("a request was answered twice")
        call.is_answered = True
        self._watchers.clear()

    def _unpark(self, call: Call) -> None:
        """The request in work is done; the driver may go on with the next."""
        if self.is_parked:
            self.is_parked = False
            self._drop_request()
            self._call = self._new_call(call)
        self.engine.mark_dirty(self)

    # Requests

    def _turn(self, buffer: bytes, position: int, now: Instant) -> None:
        """Take up whole frames from `position` on until one parks, the turn is over or the rest is no whole frame."""
        end, limit, routes, head = len(buffer), self.engine.largest_frame_bytes, self._dispatcher.routes, _head
        self._is_turn_over = False
        for _ in range(REQUESTS_PER_TURN):
            if end - position < _HEAD_BYTES:
                break
            size, code, client_id_size = head(buffer, position)
            start = position + 4
            stop = start + size
            if stop > end or not SMALLEST_FRAME_BYTES <= size <= limit:
                break
            frame = buffer[start:stop]
            position = stop
            route = routes.get(code) or self._find_route(code, frame)
            if route is not None:
                self._serve(route, frame, 10 + client_id_size if client_id_size > 0 else 10, now)
            if self._is_turn_over:
                break
        if not self.is_parked:
            self._frame = b""  # an idle connection does not hold on to its last request
        if position < end or self._is_turn_over:
            self._buffer_rest(buffer, position)
        elif not self.is_quiet:
            self._drop_input()
            self.is_quiet = True
        if self.engine.outbox:  # a request that was parked or closed its connection had consequences
            self.engine.drain()
        if not self.is_dirty:
            self.engine.mark_dirty(self)

    def _serve(self, route: Route, frame: bytes, offset: int, now: Instant) -> None:
        """One request: header, body, handler, answer. `offset` is where the header's client id ends."""
        call = self._call
        try:
            if frame[8:offset] != self._raw_client_id:
                self._set_client_id(frame, offset)
            if route.has_tagged_header:
                if len(frame) > offset and not frame[offset]:
                    offset += 1
                else:
                    offset = decode_request_header(frame)[1]
        except WireError as error:
            self.fail(f"{route}: {error}")
            return
        try:
            request, _ = route.decode(frame, offset)
        except Exception as error:
            self.fail(route.explain(frame, offset, error))
            return
        if route is not self._route:
            self._route, call.api_key, call.version = route, route.api_key, route.version
        call.now = self._received = now
        self._frame = frame
        response = None
        try:
            response = route.handle(call, request)
            if response is not None:
                self._send(route, route.encode(response))
            elif call.is_answered:
                self._call = self._new_call(call)
            else:
                self.is_parked, self._request, self._is_turn_over = True, request, True
        except Exception as error:
            self._failed(route, request, error if response is None else route.fault_of(response, error))

    def _send(self, route: Route, body: bytes | list[bytes] | None) -> None:
        """The answer of the request in work goes out; None: it gets none. What it caused is noted before it."""
        engine, request = self.engine, self._frame
        if engine.outbox:
            engine.drain()
        response: bytes | Frame | None = None
        if isinstance(body, list):
            response = self._send_pieces(route, body)
        elif body is not None:
            # The correlation id goes back as it came.
            response = request[4:8] + b"\0" + body if route.has_tagged_answer else request[4:8] + body
            size = len(response)
            self._out.append(_PREFIXES[size] if size < len(_PREFIXES) else self._large_prefix(size))
            self._out.append(response)
        engine.journal.exchange(self.peer, request, response, self._received, engine.now)

    def _send_pieces(self, route: Route, pieces: list[bytes]) -> bytes | Frame:
        """An answer with records: a large one is not joined before the driver does. Returns what the journal keeps."""
        pieces.insert(0, self._frame[4:8] + b"\0" if route.has_tagged_answer else self._frame[4:8])
        size = sum(map(len, pieces))
        self._out.append(self._large_prefix(size))
        if size > LARGE_BYTES:
            pieces = flattened(pieces)
            self._out += pieces
            return Frame.of(pieces, size)
        response = b"".join(pieces)
        self._out.append(response)
        return response

    def _large_prefix(self, size: int) -> bytes:
        """The length prefix of a large answer. Much to send ends the turn, so that slow readers cost little."""
        if size > MOST_FRAME_BYTES:
            raise AnswerTooLong(f"an answer of {size} bytes")
        self.out_bytes += size
        if self.out_bytes > MOST_OUT_BYTES:
            self._is_turn_over = True
        return _SIZE.pack(size)

    def _send_reply(self, route: Route, response: "Message | None") -> None:
        """The answer that came by `reply`. It may not harm the caller: a timer, or another client's request."""
        try:
            self._send(route, None if response is None else route.encode(response))
        except Exception as error:
            self._blame(error if response is None else route.fault_of(response, error))
            self._send_error(route, self._request, ErrorCode.UNKNOWN_SERVER_ERROR)

    def _failed(self, route: Route, request: "Message", error: Exception) -> None:
        """A handler raised: a client's fault closes or is answered with its code, a bug of ours with -1 (AV-10)."""
        call = self._call
        if not isinstance(error, CloseConnection | KafkaError):
            self._blame(error)
        if not call.is_answered:
            call.is_answered = True  # wherever the handler left it before it raised, nobody may answer it again
            self._watchers.clear()
            if isinstance(error, CloseConnection):
                self.fail(f"{route}: {error}")
            else:
                code = error.code if isinstance(error, KafkaError) else ErrorCode.UNKNOWN_SERVER_ERROR
                self._send_error(route, request, code)
        self._call = self._new_call(call)

    def _blame(self, error: Exception) -> None:
        """A bug of ours is kept for the test; an answer too long for the protocol only has a line in the log."""
        if isinstance(error, AnswerTooLong):
            log.warning("answered with an error in place of the answer: %s", error)
        else:
            self.engine.failed(error)

    def _send_error(self, route: Route, request: "Message | None", code: ErrorCode) -> None:
        """The API's own error layout, as far as it has one (AV-10)."""
        try:
            body = route.encode(route.error_response(request, route.version, code))
        except Exception as error:
            self.engine.failed(error)
            self.fail(f"{route}: no answer could be made: {error}")
        else:
            self._send(route, body)

    def _on_internal_error(self, error: Exception) -> None:
        """A bug of ours that is no handler's: nobody knows what has become of the request, so the connection ends."""
        self.engine.failed(error)
        self._drop_request()
        self.fail(f"internal error: {error!r}")

    def _find_route(self, code: int, frame: bytes) -> Route | None:
        """The route of an API and version asked for the first time on this listener; None: the connection is closed."""
        try:
            return self._dispatcher.find(code)
        except CloseConnection as error:
            self._refuse_unserved(code >> 16, frame, str(error))
        except Exception as error:
            self.engine.failed(error)
            self.fail(f"its handler could not be loaded: {error}")
        return None

    def _set_client_id(self, frame: bytes, offset: int) -> None:
        """The client names itself, for the first time or by a new name."""
        header, _ = decode_request_header(frame)
        self._raw_client_id = frame[8:offset]
        self._call.client_id = header.client_id

    def _refuse_unserved(self, api_key: int, frame: bytes, reason: str) -> None:
        """Close for an API or version that is not served, naming the client if this is a request of Kafka's."""
        other_protocol = guess_protocol(frame)
        if not other_protocol:
            with suppress(WireError):
                self._call.client_id = client_id_of(frame)
            self.engine.unserved.closed(self._call.client_id, self.peer, api_key, reason)
        self.fail(reason + other_protocol)

    def _new_call(self, before: Call | None = None) -> Call:
        """The call for the next requests; one serves them all until one is parked or answered by `reply`."""
        engine, listener = self.engine, self.listener
        call = Call(engine.cluster, engine.cluster.nodes[listener.node_id], listener, self, self.peer.client_host)
        if before is not None:
            call.api_key, call.version, call.client_id = before.api_key, before.version, before.client_id
        return call

    # Input

    def _input(self) -> tuple[bytes, int]:
        """Everything received and not taken up, and where that begins."""
        pieces, position = self._pieces, self._position
        if len(pieces) > 1:
            pieces[0] = pieces[0][position:]
            return b"".join(pieces), 0
        return pieces[0], position

    def _buffer_rest(self, buffer: bytes, position: int) -> None:
        """Put back what was not taken up, and find out how much makes the next frame whole."""
        self.is_quiet = False
        if self.close_reason is not None:
            return
        rest_bytes = len(buffer) - position
        self._wanted_bytes = 4
        if rest_bytes >= 4 and not self.is_parked:
            self._wanted_bytes = self._whole_frame_bytes(buffer, position)
            if self.close_reason is not None:
                return
        if rest_bytes < self._wanted_bytes:
            buffer, position = buffer[position:], 0  # do not hold on to what was taken up
        self._pieces = [buffer] if rest_bytes else []
        self._position = position
        self._buffered_bytes = rest_bytes

    def _whole_frame_bytes(self, buffer: bytes, position: int) -> int:
        """The length of the frame that begins here with its prefix; a length that cannot be closes (AV-3)."""
        (size,) = _SIZE.unpack_from(buffer, position)
        limit = self.engine.largest_frame_bytes
        if SMALLEST_FRAME_BYTES <= size <= limit:
            return int(size) + 4
        if size > limit:
            problem = f"a frame of {size} bytes is larger than socket.request.max.bytes ({limit})"
        else:
            problem = f"a frame of {size} bytes cannot hold a request header"
        self.fail(problem + guess_protocol(buffer[position : position + 16]))
        return 4

    def _drop_request(self) -> None:
        self._frame, self._request = b"", None

    def _drop_input(self) -> None:
        self._pieces, self._position, self._buffered_bytes, self._wanted_bytes = [], 0, 0, 4
