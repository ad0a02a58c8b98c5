"""One request on its way through stages to its handler, and its answer on the way back.

    begin -> _advance    resumes the passage of the innermost stage that the request has reached, again and again:
               Handle       further in: the next stage, or the handler; a handler may park the request, or take steps
               Pause        a deadline resumes it
               NextTurn     the engine's next step resumes it
               return       its answer, or what it raised, goes to the passage around it
          -> _send       the outermost has answered, and has not settled the request in its own way

For the connection the request is in work, and parked if it takes longer. A request that waits to be handled is handled
even if its client goes away, as in Kafka; nobody hears of it then.
"""

from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, cast

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.core.deadlines import Deadline
from fakebroker.broker.core.node import NodeState
from fakebroker.broker.core.security.principals import Principal
from fakebroker.broker.engine.closed_connection import ClosedConnection
from fakebroker.broker.engine.connection_state import CLOSING
from fakebroker.broker.engine.quotas.muting import answer_and_mute
from fakebroker.broker.engine.stages import Handle, Handler, NextTurn, Passage, Pause, Stage
from fakebroker.broker.engine.work import Progress, Work
from fakebroker.protocol.errors import CloseConnection, ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.listeners import Address

if TYPE_CHECKING:
    from fakebroker.broker.engine.connection import Connection
    from fakebroker.broker.engine.dispatch import Route
    from fakebroker.protocol.schema import Message


class StagedCall(Call):
    """The call of a handler behind stages: its connection is the exchange. That of the connection is shared by
    successive requests.
    """

    __slots__ = ("quota",)

    def __init__(self, outer: Call, exchange: "Exchange") -> None:
        super().__init__(outer.cluster, outer.node, outer.listener, exchange, outer.client_host)
        self.api_key, self.version, self.client_id, self.now = outer.api_key, outer.version, outer.client_id, outer.now
        self.quota = None


class Exchange:
    """One request and its answer. To the handler it is the connection (`broker/apis/call.py`)."""

    __slots__ = (
        "_connection",
        "_deadline",
        "_entered",
        "_incarnation",
        "_is_in_handler",
        "_is_long",
        "_outer",
        "_response",
        "_stages",
        "_watchers",
        "call",
        "correlation_id",
        "engine",
        "handle",
        "is_settled",
        "mute_ms",
        "request",
        "request_bytes",
        "route",
    )

    def __init__(
        self,
        connection: "Connection | ClosedConnection",
        route: "Route",
        outer: Call,
        request: "Message",
        stages: Sequence[Stage],
    ) -> None:
        """`route` is the one without stages, `outer` the call that the connection gave."""
        self.engine = connection.engine
        self.route = route
        self.handle = route.handle  # a stage may put another in its place
        self.request = request
        self.call = StagedCall(outer, self)
        self.request_bytes = len(connection.frame)
        self.correlation_id = int.from_bytes(connection.frame[4:8], "big", signed=True)
        self.mute_ms = 0  # for how long the client is throttled once it has the answer
        self._connection = connection
        self._outer = outer
        self._stages = stages
        self._entered: list[Passage] = []  # of the stages that the request has reached, outermost first
        self._incarnation = outer.node.incarnation
        self._deadline: Deadline | None = None  # of a pause
        self._watchers: list[Callable[[Instant], None]] = []
        self._response: Message | None = None
        self._is_in_handler = False  # which has not answered yet
        self._is_long = self.request_bytes > self.engine.long_list_bytes  # the answer is written in steps
        self.is_settled = False  # a stage has seen to what the client gets

    def begin(self) -> "Message | None":
        """Take the request in. Returns its answer if that is there at once; None: it was sent, or comes later.

        Raises the KafkaError or CloseConnection that the outermost stage raises.
        """
        self._enter(self.request)
        if self._advance(None):
            if self._response is not None and not self.mute_ms and not self.is_settled:
                self._let_go()
                return self._response
            self._send()
        if not self._outer.is_answered:
            self._outer.on_close(self._gone)
        return None

    # What the handler's call asks of its connection

    def answer(self, call: Call, response: "Message | None") -> None:
        """The handler's answer; None: there is none."""
        if call.is_answered:
            raise RuntimeError("a request was answered twice")
        self.handled()
        self._resume(response)

    def watch(self, call: Call, callback: Callable[[Instant], None]) -> None:
        """Run `callback` if the client goes away before the handler answers; at once if it has."""
        if self.is_gone:
            self.engine.run(callback, self.engine.now)
        elif not call.is_answered:
            self._watchers.append(callback)

    def work(self, call: Call, steps: Steps["Message"], must_finish: bool) -> None:
        """The handler goes on in steps, so its answer may be long."""
        self._is_long = True
        self.engine.begin(Work(self, call, self._in_steps(call, steps), must_finish))

    def if_unsent(self, callback: Callable[[Instant], None]) -> None:
        """Run `callback` if the answer cannot be made."""
        self._connection.if_unsent(callback)

    def at_end(self, key: object, callback: Callable[[Instant], None]) -> None:
        """Run `callback` when the connection is closed."""
        self._connection.at_end(key, callback)

    def fail(self, reason: str) -> None:
        """Close the connection."""
        self._connection.fail(reason)

    def looked_up(self, call: Call, group_id: str) -> None:
        """The client is answered which node coordinates a group."""
        self._connection.looked_up(call, group_id)

    def address_of(self, node_id: int) -> Address | None:
        """Where the client reaches a node."""
        return self._connection.address_of(node_id)

    @property
    def connection_id(self) -> int:
        """Which connection of the engine the request came on."""
        return self._connection.connection_id

    @property
    def principal(self) -> Principal:
        """Who the client is."""
        return self._connection.principal

    @property
    def client_port(self) -> int:
        """The port that the client connected from."""
        return self._connection.client_port

    @property
    def software(self) -> tuple[str, str]:
        """What the client says it is."""
        return self._connection.software

    @software.setter
    def software(self, software: tuple[str, str]) -> None:
        self._connection.software = software

    # What stages ask

    def no_more_soon(self) -> None:
        """The driver may have waited for that."""
        self._connection.no_more_soon()

    @property
    def progress(self) -> Progress:
        """That of the request."""
        return self._connection.progress

    @property
    def is_gone(self) -> bool:
        """Whether the client has gone."""
        return self._connection.is_gone

    def error(self, code: ErrorCode) -> "Message":
        """The answer in which everything that was asked for failed."""
        return self.route.error_response(self.request, code)

    def handled(self) -> None:
        """The handler has answered, or will not have the request: if the client goes now, nothing is left to do."""
        self.call.is_answered = True
        self._is_in_handler = False
        self._watchers.clear()
        if not self._entered:
            self._let_go()

    # How faults settle a request; all of it happens to nobody if the client has gone

    def put(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._connection.put(data)

    def stall(self, is_stalled: bool) -> None:
        """Have the driver read nothing, or go on with it."""
        self._connection.stall(is_stalled)

    def frame_of(self, body: bytes) -> bytes:
        """The answer's frame, without its length."""
        return self._connection.head + body

    def settle(self, frame: bytes) -> None:
        """The client has had its answer, this frame, by `put`."""
        self.is_settled = True
        self._connection.note(frame)
        self._connection.finish(self._outer)

    def drop(self) -> None:
        """The client gets no answer: the request stays parked for as long as it waits."""
        self.is_settled = True
        self.handled()
        self._connection.note(None)

    def disconnect(self, reason: str, *, is_to_reset: bool = False) -> None:
        """The client gets its connection closed for an answer."""
        self.is_settled = True
        self._connection.note(None)
        self._connection.end(reason, is_to_reset=is_to_reset)

    # The way

    def _resume(self, response: "Message | None" = None, error: Exception | None = None) -> None:
        """Go on with the request after it was parked, unless the connection is closing; a bug of ours ends that."""
        if self._connection.state is CLOSING or not self._entered:
            self.handled()
            return
        try:
            if self._advance(response, error):
                self._send()
        except CloseConnection as closing:
            self._connection.fail(f"{self.route}: {closing}")
        except KafkaError as refusal:
            self._send_error(refusal.code)
        except Exception as bug:
            self.engine.failed(bug)
            self._connection.fail(f"internal error: {bug!r}")

    def _advance(self, response: "Message | None", error: Exception | None = None) -> bool:
        """Resume the passage that the request is in, and go on from there until it has to wait.

        It is resumed with `error`, or without one with `response`. Returns whether the outermost has answered:
        `_response`. Raises the KafkaError or CloseConnection that the outermost raised.
        """
        entered = self._entered
        while True:
            try:
                command = entered[-1].send(response) if error is None else entered[-1].throw(error)
                response = error = None
            except StopIteration as end:
                entered.pop()
                response, error = end.value, None
            except Exception as raised:
                entered.pop()
                response, error = None, self._known(raised)
            else:
                if not isinstance(command, Handle):
                    if command == Pause(0):
                        continue
                    self._wait(command)
                    return False
                if len(entered) < len(self._stages) and command.handler is None:
                    self._enter(command.request)
                    continue
                response, error = self._handle(command.handler or self.handle, command.request)
                if response is None and error is None:
                    return False
            if not entered:
                if error is not None:
                    self._let_go()
                    try:
                        raise error from None
                    finally:
                        del error  # whose traceback has this frame, and those of the driver: a cycle
                self._response = response
                return True

    def _enter(self, request: "Message") -> None:
        """To the next stage."""
        self._entered.append(self._stages[len(self._entered)].serve(self, request))

    def _handle(self, handler: Handler, request: "Message") -> "tuple[Message | None, Exception | None]":
        """Let the handler have it, unless the process that received it ended while it waited.

        Returns its answer, or what it raised; neither, if it was answered otherwise or will be.
        """
        call = self.call
        if call.node.incarnation != self._incarnation:
            self._abandon()
            return None, None
        call.now = self.engine.now
        self._is_in_handler = True
        try:
            response = handler(call, request)
        except Exception as error:
            return None, self._raised(error)
        if response is not None:
            self.handled()
        return response, None

    def _in_steps(self, call: Call, steps: Steps["Message"]) -> Generator[None, None, None]:
        try:
            response = yield from steps
        except Exception as error:
            known = self._raised(error)
            if known is not None:
                self._resume(error=known)
        else:
            if response is not None and not call.is_answered:
                self.handled()
                self._resume(response)

    def _raised(self, error: Exception) -> Exception | None:
        """The handler raised. Returns what the stages have in place of an answer; None: it has answered already."""
        known = self._known(error)
        if self.call.is_answered:
            return None
        self.handled()
        return known

    def _known(self, error: Exception) -> Exception:
        """What stages and client get for an exception: a bug of ours is noted, and UNKNOWN_SERVER_ERROR to them."""
        if isinstance(error, CloseConnection | KafkaError):
            return error
        self.engine.failed(error)
        return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)

    def _send(self) -> None:
        """The request has its answer, `_response`; None: it gets none."""
        self._let_go()
        if self.is_settled:
            return
        response = self._response
        if self.mute_ms:
            answer_and_mute(self._connection, self._outer, response, self.mute_ms, in_steps=self._is_long)
        elif self._is_long and response is not None and not self.is_gone:
            self._connection.work(self._outer, _made(response), must_finish=False)  # it is written in steps
        else:
            self._connection.answer(self._outer, response)

    def _send_error(self, code: ErrorCode) -> None:
        """The request is refused with this code, after it was parked."""
        if self._is_long and not (self.mute_ms or self.is_settled or self.is_gone):
            self._let_go()
            self._connection.work(self._outer, self.route.error_in_steps(self.request, code), must_finish=False)
        else:
            self._response = self.error(code)
            self._send()

    def _let_go(self) -> None:
        """No stage and no handler has the request any more: it is not in a cycle with its call, which would keep it and
        its answer, perhaps many megabytes, until the collector comes by.
        """
        if not self._is_in_handler:
            self.call.connection, self.call.quota = self._connection, None

    # Waiting

    def _wait(self, command: Pause | NextTurn) -> None:
        """Go on later."""
        if isinstance(command, NextTurn):
            steps = self._next_turn()
            next(steps)
            self.engine.begin(Work(self, self.call, steps, must_finish=not self.call.is_answered))
            return
        deadline = self._deadline = self._deadline or Deadline(self._awoken, owner=self)
        self.engine.cluster.timers.mono.arm(deadline, self.engine.now.mono_ms + command.delay_ms)

    def _awoken(self, now: Instant) -> None:
        """The pause is over."""
        node = self.call.node
        if node.state is NodeState.FROZEN:
            assert self._deadline is not None
            node.run_when_thawed(self._deadline, now)
        else:
            self._resume()

    def _next_turn(self) -> Generator[None, None, None]:
        try:
            yield  # it has begun, and so hears of it if the client leaves before the turn
        except GeneratorExit:
            self._abandon()
            raise
        self._resume()

    def _gone(self, _now: Instant) -> None:
        """The client went away. What waits to be handled still is."""
        if self.call.is_answered and self._deadline is not None:
            self._deadline.end()
        self._connection = ClosedConnection(self.engine, self._connection)
        watchers, self._watchers = self._watchers, []
        for callback in watchers:
            self.engine.run(callback, self.engine.now)
        if watchers and not self.call.is_answered:
            self._abandon()

    def _abandon(self) -> None:
        """The handler has given the request up, as it does in what it watches the client with: no stage goes on."""
        self._entered.clear()
        self.handled()


def _made(response: "Message") -> Steps["Message"]:
    """The steps to an answer that is there."""
    return response
    yield  # makes it a generator


def begin_exchange(route: "Route", stages: Sequence[Stage], call: Call, request: "Message") -> "Message | None":
    """In the place of the handler of `route`: its requests go through `stages` first, outermost first."""
    # A connection of this engine gave the call: nobody else hands requests to routes.
    connection = cast("Connection | ClosedConnection", call.connection)
    return Exchange(connection, route, call, request, stages).begin()
