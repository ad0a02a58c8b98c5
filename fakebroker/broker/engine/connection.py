"""One client's connection: frames in, answers out, in request order (AV-1..AV-4, AV-11).

Like Kafka, a connection has one request in work at a time: while it is parked the next frame is not read (AV-2), so
answers are in order without a queue. After `REQUESTS_PER_TURN` requests, or `Engine.turn_s`, others have their turn. It
is a state machine (`connection_state.py` has the states and which may follow). A request goes this way:

    receive or resume -> _turn        cuts frames out of what came, as long as the state is SERVING
                         -> _serve    header, body, handler
                            -> send       the handler returned the answer: it goes to `_out` and into the journal
                            or _park      it returned None and has not replied: PARKED, until `answer` or its work ends
                            or answer_failure  it raised: the API's error answer, or CLOSING
    engine.flush -> driver.flush      the driver takes `data_to_send`, and sees whether to close or to `resume`
"""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fakebroker.broker.apis.call import UNKNOWN_SOFTWARE, Call, Steps
from fakebroker.broker.core.security.principals import ANONYMOUS
from fakebroker.broker.engine.closed_connection import ClosedConnection
from fakebroker.broker.engine.connection_state import (
    BUFFERED,
    CLIENT_LEFT,
    CLOSING,
    ENDED,
    GONE,
    PARKED,
    READING,
    SERVING,
    TRANSITIONS,
    ConnectionState,
)
from fakebroker.broker.engine.dispatch import REQUEST_LIMIT, Dispatcher, Route
from fakebroker.broker.engine.driver import NO_DRIVER, ConnectionDriver
from fakebroker.broker.engine.failed_request import answer_failure, find_route, send_reply
from fakebroker.broker.engine.journal import Connected, Disconnected, Peer
from fakebroker.broker.engine.kept_frames import BIG_BYTES, Frame, FrameBytes
from fakebroker.broker.engine.lanes import Lanes
from fakebroker.broker.engine.printable import LINE_CHARACTERS, printable
from fakebroker.broker.engine.unserved import who
from fakebroker.broker.engine.work import BYTES_OF_PLACE, Progress, Work, answer_in_steps
from fakebroker.protocol.errors import AnswerTooLong, WireError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.listeners import Address, Listener
from fakebroker.protocol.schema.pieces import flattened
from fakebroker.protocol.wire.frame import SMALLEST_FRAME_BYTES, decode_request_header
from fakebroker.protocol.wire.framing import LARGE_BYTES, LONGEST_FRAME_BYTES, PREFIX_BYTES, FrameReader
from fakebroker.protocol.wire.request_head import (
    REQUEST_HEAD_BYTES,
    SHORT_PREFIXES,
    pack_prefix,
    read_frame_head,
    read_request_head,
)

if TYPE_CHECKING:
    from fakebroker.broker.engine.engine import Engine
    from fakebroker.protocol.schema import Message

REQUESTS_PER_TURN = 64
MAX_OUT_BYTES = 1024 * 1024  # of large answers in one turn

log = logging.getLogger("fakebroker")


class Connection:
    """What the engine knows of one client. Its driver (driver.py: net or sim) feeds it and sends what it has made."""

    def __init__(
        self, engine: "Engine", listener: Listener, peer: Peer, local_address: Address, dispatcher: Dispatcher
    ) -> None:
        self.engine = engine
        self.listener, self.peer = listener, peer
        self.principal = ANONYMOUS  # until it logs in (security/sasl_connection.py)
        self.connection_id, self.client_port = peer.connection_id, peer.client_port
        self.software = UNKNOWN_SOFTWARE  # until it names it (KIP-511)
        self.local_address = local_address  # the address on our side that the client connected to
        self.state = READING
        self.close_reason: str | None = None  # set in CLOSING and GONE
        self.driver: ConnectionDriver = NO_DRIVER  # set by the driver, right after `Engine.connect`
        self.out_bytes = 0  # of large answers made and not handed over; many end the turn
        self.is_muted = False  # in PARKED: the request was answered, and its client is throttled
        self.is_stalled = False  # the driver reads nothing, as a fault wants it
        self.is_to_reset = False  # in CLOSING: not in good order, but with a reset
        self._dispatcher = dispatcher
        self._input = FrameReader(engine.largest_frame_bytes, SMALLEST_FRAME_BYTES, REQUEST_LIMIT)
        self._out: list[bytes] = []  # length prefixes and frames, not handed over
        self._raw_client_id = b""  # with its length, as it came; compared before it is decoded
        # The request in work, or the last one. A connection that has nothing to do keeps neither frame nor request.
        self.route: Route | None = None
        self.frame = b""
        self.request: Message | None = None  # only while it is parked
        self.received = engine.now  # when it was taken up
        self.call = self._new_call()
        self._watchers: list[Callable[[Instant], None]] = []  # `Call.on_close` of the parked request
        self._at_end: dict[object, Callable[[Instant], None]] | None = None  # `Call.at_end`
        self._lanes = Lanes()
        engine.journal.event(Connected(peer), engine.now)

    # What the driver calls

    def receive(self, data: bytes, now: Instant) -> None:
        """Bytes came in. What is due runs first, then whole frames are taken up."""
        self.engine.tick(now)
        state, position = self.state, 0
        try:
            if state is BUFFERED and 0 < (missing := self._input.missing_bytes) < len(data):
                self._input.receive(data[:missing])  # the cut frame is joined by itself, not with all that follows it
                self._kept_turn(now)
                state, position = self.state, missing
            if state is READING:
                self._turn(data, position, now)  # nearly always: `data` is not kept but cut where it is
            elif state is BUFFERED or state is PARKED:
                self._input.receive(data[position:])
                self.engine.to_flush[self] = None  # the driver may have to stop reading
                if self.wants_turn:
                    self._kept_turn(now)
        except Exception as error:
            self._on_internal_error(error)

    def resume(self, now: Instant) -> None:
        """The next turn for frames that are already here."""
        self.engine.tick(now)
        try:
            if self.wants_turn:
                self._kept_turn(now)
        except Exception as error:
            self._on_internal_error(error)

    @property
    def wants_turn(self) -> bool:
        """Whether bytes are kept that are worth a turn now."""
        return self.state is BUFFERED and self._input.buffered_bytes >= self._input.wanted_bytes

    @property
    def is_parked(self) -> bool:
        """Whether a request waits for its answer."""
        return self.state is PARKED

    @property
    def is_gone(self) -> bool:
        """Whether the connection is closed."""
        return self.state is GONE

    @property
    def parked_call(self) -> Call | None:
        """The request that waits for its answer, or None."""
        return self.call if self.state is PARKED and not self.is_muted else None

    @property
    def waiting_bytes(self) -> int:
        """How many bytes wait after a parked request or for the next turn; not those of an incomplete frame."""
        return self._input.buffered_bytes if self.state is PARKED or self.wants_turn else 0

    def data_to_send(self) -> list[bytes]:
        """The pieces to write, in order; they are handed over."""
        out, self._out, self.out_bytes = self._out, [], 0
        return out

    def closed(self, now: Instant, reason: str = CLIENT_LEFT) -> None:
        """The connection is closed, whoever closed it. Runs what the parked request registered with `Call.on_close`."""
        if self.state is GONE:
            return
        self._move(GONE)
        self.close_reason = self.close_reason or reason
        for kept in (self._input, self._out, self._lanes):
            kept.clear()
        self.engine.forget(self)
        self.engine.journal.event(Disconnected(self.peer, self.close_reason), now)
        watchers = [*self._watchers, *(self._at_end or {}).values()]
        self._watchers, self._at_end = [], None
        for callback in watchers:
            self.engine.run(callback, now)
        self._drop_request()
        # Not in a cycle with driver and call any more: all of it goes now, not when the collector comes by.
        self.driver, self.call.connection = NO_DRIVER, ClosedConnection(self.engine, self)

    # What a call asks of its connection

    def answer(self, call: Call, response: "Message | None") -> None:
        """The answer of the request in work, which is `call`; None: it gets none."""
        self.mark_answered(call)
        if self.state in ENDED or self.route is None:
            return  # `Call.close` came before
        send_reply(self, self.route, response)
        self.unpark(call)

    def work(self, call: Call, steps: Steps[Any], must_finish: bool) -> None:
        """The request in work is long: its next steps are taken in turn with others."""
        self.engine.begin(Work(self, call, answer_in_steps(self, call, steps), must_finish))

    def read(self, call: Call, steps: Steps[Any], handle: Callable[[Call, Any], Any]) -> None:
        """The request comes in a long frame: read it in steps, then let `handle` have it if the node still lives."""
        self.progress.places += len(self.frame) // BYTES_OF_PLACE
        self.work(call, self._read(call, steps, handle, call.node.incarnation), must_finish=True)

    def watch(self, call: Call, callback: Callable[[Instant], None]) -> None:
        """Run `callback` if the connection goes away before `call` is answered."""
        if not call.is_answered:
            self._watchers.append(callback)

    def if_unsent(self, callback: Callable[[Instant], None]) -> None:
        """Run `callback` if the answer of the request in work cannot be made, or the connection goes away before."""
        self.call.unsent = callback
        self.watch(self.call, callback)

    def at_end(self, key: object, callback: Callable[[Instant], None]) -> None:
        """Run `callback` when the connection is closed; once for each key."""
        if self._at_end is None:
            self._at_end = {}
        self._at_end.setdefault(key, callback)

    def fail(self, reason: str) -> None:
        """Stop reading; the driver closes after the answers that are already made."""
        if self.state not in ENDED:
            client = who(self.call.client_id, self.peer)
            log.warning("closing the connection from %s: %s", client, printable(reason, LINE_CHARACTERS))
            self.end(reason)

    def looked_up(self, call: Call, group_id: str) -> None:
        """The client of `call` learns who coordinates a group."""
        self.engine.unserved.looked_up(call.client_id, self.peer, group_id)

    def address_of(self, node_id: int) -> Address | None:
        """Where this client reaches a node: that node's listener of the kind that the client came in on."""
        listener = self.engine.sibling(self.listener, node_id)
        return None if listener is None else listener.advertised or Address(self.local_address.host, listener.port)

    # What a fault makes of the request in work (faults/)

    def put(self, data: bytes) -> None:
        """Send bytes as they are, in the order of the calls."""
        self._out.append(data)
        self.engine.to_flush[self] = None

    def note(self, response: bytes | None) -> None:
        """Let the journal have the request in work, with what the client got for an answer."""
        self.engine.journal.exchange(self.peer, self.frame, response, self.received, self.engine.now)

    def finish(self, call: Call) -> None:
        """The request in work is done: what it gets for an answer was put and noted."""
        self.mark_answered(call)
        self.unpark(call)

    def stall(self, is_stalled: bool) -> None:
        """Have the driver read nothing, or go on with it."""
        self.is_stalled = is_stalled
        self.engine.to_flush[self] = None

    def end(self, reason: str, *, is_to_reset: bool = False) -> None:
        """As `fail`, on purpose: nothing is logged."""
        if self.state not in ENDED:
            self._move(CLOSING)
            self.close_reason, self.is_to_reset = reason[:LINE_CHARACTERS], is_to_reset
            self._input.clear()
            self.engine.to_flush[self] = None

    @property
    def head(self) -> bytes:
        """With what the answer to the request in work begins: its correlation id, and the tags where there are any."""
        return self.frame[4:8] + b"\0" if self.route and self.route.has_tagged_answer else self.frame[4:8]

    def no_more_soon(self) -> None:
        """The request in work is not `Progress.is_soon_over` any more: the driver may have waited for that."""
        self.engine.to_flush[self] = None

    def _read(self, call: Call, steps: Steps[Any], handle: Callable[[Call, Any], Any], incarnation: int) -> Steps[Any]:
        self.request = request = yield from steps
        return handle(call, request) if call.node.incarnation == incarnation else None

    def mark_answered(self, call: Call) -> None:
        """Nobody may answer the request in work any more. Raises RuntimeError if it was answered before."""
        if call.is_answered:
            raise RuntimeError("a request was answered twice")
        call.is_answered = True
        self._watchers.clear()

    def _park(self, request: "Message") -> None:
        """The request in work is answered later. Its handler may have closed the connection: then it never is."""
        if self.state is SERVING:
            self._move(PARKED)
            self.request = request

    def renew_call(self) -> None:
        """The call of the request in work is used up: the next requests get a new one."""
        self.call.unsent, self.call = None, self._new_call(self.call)

    def unpark(self, call: Call) -> None:
        """The request in work is done; the driver may go on with the next."""
        if self.state is PARKED:
            self._move(BUFFERED if self._input.buffered_bytes else READING)
        if self.state is not SERVING:  # there the handler replied before it returned: `_serve` goes on
            self._drop_request()
            self.call = self._new_call(call)
        self.engine.to_flush[self] = None

    # Requests

    def _turn(self, buffer: bytes, position: int, now: Instant) -> None:
        """Take up frames until one parks or closes, or the turn is over: by their number, answers or the stopwatch."""
        end, limit, routes, head = len(buffer), self.engine.at_once_bytes, self._dispatcher.routes, read_request_head
        lane_of, short = self._lanes.get, self.engine.long_list_bytes
        serving, prefix_bytes, smallest = SERVING, PREFIX_BYTES, SMALLEST_FRAME_BYTES  # local names are the fastest
        ends_s = 0.0
        self.state = serving  # plain stores here and below, not `_move`: they are made for every read
        for _ in range(REQUESTS_PER_TURN):
            if end - position < REQUEST_HEAD_BYTES:
                break
            size, code, client_id_size = head(buffer, position)
            start = position + prefix_bytes
            stop = start + size
            if stop > end or not smallest <= size <= limit:
                break  # `_buffer_rest` finds out which
            frame = buffer[start:stop]
            position = stop
            route = routes.get(code) or find_route(self, self._dispatcher, code, frame)
            if route is not None:
                lane = lane_of(route)
                if lane is None or lane.layout is None or not lane.serve(self, route, frame, now):
                    # A negative length says that there is no client id.
                    offset = smallest + client_id_size if client_id_size > 0 else smallest
                    self._serve(route if size <= short else route.of_long_frames(size), frame, offset, now)
                if position < end:  # one that takes long does not have the others in its turn
                    if not ends_s:
                        stopwatch = self.engine.cluster.timers.passes.stopwatch
                        ends_s = stopwatch() + self.engine.turn_s
                    elif stopwatch() > ends_s:
                        break
            if self.state is not serving:
                break
        if self.state is not PARKED:
            self.frame = b""  # an idle connection does not hold on to its last request
        if position == end and self.state is serving:
            self.state = READING
        else:
            self._buffer_rest(buffer, position)
        engine = self.engine
        if engine.outbox:  # a request that was parked or closed its connection had consequences
            engine.drain()
        engine.to_flush[self] = None

    def _buffer_rest(self, buffer: bytes, position: int) -> None:
        """Keep what was not taken up."""
        if self.state not in ENDED:
            self._input.put_back(buffer, position)
            self._measure_rest()

    def _measure_rest(self) -> None:
        """Find out how much makes the next frame whole; a bad length closes the connection (AV-3)."""
        if self.state is PARKED:
            return  # nothing after its request is looked at before it is answered, not even a length that cannot be
        try:
            self._input.measure()
        except WireError as error:
            self.fail(str(error))
            return
        state = BUFFERED if self._input.buffered_bytes else READING
        if state is not self.state:
            self._move(state)

    def _kept_turn(self, now: Instant) -> None:
        """A turn for what is kept: for the next frame alone if it is so long that to read it is work in steps.

        A turn that takes nothing, does not find out either how long the next frame is (nothing behind a parked request
        is measured), and wants another turn would never end: it closes the connection.
        """
        kept = self._input.buffered_bytes, self._input.wanted_bytes
        if self._input.wanted_bytes > PREFIX_BYTES + self.engine.at_once_bytes:
            self._long_frame(self._input.take_frame(), now)
        else:
            self._turn(*self._input.take(), now)
        if self.wants_turn and (self._input.buffered_bytes, self._input.wanted_bytes) == kept:
            raise RuntimeError(f"a turn took nothing of {kept[0]} bytes")

    def _long_frame(self, frame: bytes, now: Instant) -> None:
        """Take up one frame, cut out already; a later turn is for what follows it."""
        self.state = SERVING
        code, client_id_size = read_frame_head(frame)
        route = self._dispatcher.routes.get(code) or find_route(self, self._dispatcher, code, frame)
        if route is not None:
            offset = SMALLEST_FRAME_BYTES + max(client_id_size, 0)
            self._serve(route.of_long_frames(len(frame)), frame, offset, now)
        if self.state is not PARKED:
            self.frame = b""
        if self.state not in ENDED:
            self._measure_rest()
        if self.engine.outbox:
            self.engine.drain()
        self.engine.to_flush[self] = None

    def _serve(self, route: Route, frame: bytes, offset: int, now: Instant) -> None:
        """One request: header, body, handler, answer. `offset` is where the header's client id ends."""
        call = self.call
        try:
            if frame[8:offset] != self._raw_client_id:
                self._set_client_id(frame, offset)
            if route.has_tagged_header:
                if len(frame) > offset and not frame[offset]:
                    offset += 1
                else:
                    _, offset = decode_request_header(frame)
        except WireError as error:
            self.fail(f"{route}: {error}")
            return
        try:
            request, _ = route.decode(frame, offset)
        except Exception as error:
            self.fail(route.explain(frame, offset, error))
            return
        if route is not self.route:
            self.route, call.api_key, call.version = route, route.api_key, route.version
        call.now = self.received = now
        self.frame = frame
        response = None
        try:
            response = route.handle(call, request)
            if response is not None:
                self.send(route, route.encode(response))
                if route.repeat is not None and self.engine.uses_layouts:
                    self._lanes.learn(self, route, frame, offset, request, response)
            elif call.is_answered:
                self.renew_call()
            else:
                self._park(request)
        except Exception as error:
            answer_failure(self, route, request, error if response is None else route.fault_of(response, error))

    def send(self, route: Route, body: bytes | list[bytes] | None) -> None:
        """Send the answer of the request in work, with its correlation id; None: none. What it caused comes before."""
        engine, request = self.engine, self.frame
        if engine.outbox:
            engine.drain()
        response: FrameBytes | None = None
        if isinstance(body, list):
            response = self._send_pieces(route, body)
            if len(request) <= BIG_BYTES:
                engine.journal.append((self.peer, request, response, self.received, engine.now))
                return
        elif body is not None:
            response = request[4:8] + b"\0" + body if route.has_tagged_answer else request[4:8] + body
            size = len(response)
            self._out.append(SHORT_PREFIXES[size] if size < len(SHORT_PREFIXES) else self._large_prefix(size))
            self._out.append(response)
            if size + len(request) <= BIG_BYTES:
                engine.journal.append((self.peer, request, response, self.received, engine.now))
                return
        engine.journal.exchange(self.peer, request, response, self.received, engine.now)

    def _send_pieces(self, route: Route, pieces: list[bytes]) -> FrameBytes:
        """An answer with records: a big one is not joined before the driver does. Returns what the journal keeps."""
        pieces[0] = self.frame[4:8] + (b"\0" + pieces[0] if route.has_tagged_answer else pieces[0])
        size = sum(map(len, pieces))
        self._out.append(self._large_prefix(size))
        if size <= BIG_BYTES:
            response = b"".join(pieces)
            self._out.append(response)
            return response
        if size > LARGE_BYTES:
            pieces = flattened(pieces)
        self._out += pieces
        return Frame.of(pieces, size)

    def _large_prefix(self, size: int) -> bytes:
        """The length prefix of a large answer. Much of these ends the turn, so that slow readers cost little."""
        if size > LONGEST_FRAME_BYTES:
            raise AnswerTooLong(f"the answer has {size} bytes")
        self.out_bytes += size
        if self.out_bytes > MAX_OUT_BYTES and self.state is SERVING:
            self._move(BUFFERED)
        return pack_prefix(size)

    def _on_internal_error(self, error: Exception) -> None:
        """A bug of ours outside of a handler ends the connection, not the broker: its request may be half done."""
        self.engine.failed(error)
        self._drop_request()
        self.fail(f"internal error: {error!r}")

    def _set_client_id(self, frame: bytes, offset: int) -> None:
        """The client names itself, for the first time or by a new name."""
        header, _ = decode_request_header(frame)
        self._raw_client_id = frame[8:offset]
        self._lanes.clear()  # a request that is alike by them has the client id of the call
        self.call.client_id = header.client_id

    def _new_call(self, before: Call | None = None) -> Call:
        """The call for the next requests; one serves them all until one is parked or answered by `reply`."""
        engine, listener, self.progress = self.engine, self.listener, Progress()
        call = Call(engine.cluster, engine.cluster.nodes[listener.node_id], listener, self, self.peer.client_host)
        if before is not None:
            call.api_key, call.version, call.client_id = before.api_key, before.version, before.client_id
        return call

    def _move(self, state: ConnectionState) -> None:
        """To a state that may follow the present one."""
        assert state in TRANSITIONS[self.state], f"from {self.state.name} to {state.name}"
        self.state = state

    def _drop_request(self) -> None:
        self.frame, self.request, self.call.unsent = b"", None, None
