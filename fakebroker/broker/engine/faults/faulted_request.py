"""One request that faults hit, from the moment it was received to the last byte of its answer.

The handler gets a call of its own, whose connection is the `FaultedRequest`: what it answers, now or later, comes here
first. For the connection the request is parked meanwhile. It goes this way:

    begin -> (delay, run) -> _received   disconnect, drop, stall, or an error: it is not applied, or in part
          -> _apply                      the handler; it may park the request, or take steps
          -> _applied -> (delay, run) -> _respond   disconnect, drop, an error in place of the answer, throttle time
          -> Sending                     the bytes of the answer (sending.py)

A request that waits to be applied is applied even if its client goes away, as in Kafka; nobody hears of it then.
"""

from collections.abc import Callable, Generator
from copy import copy
from typing import TYPE_CHECKING, Any

from fakebroker.broker.apis.call import Call
from fakebroker.broker.core.deadlines import Deadline
from fakebroker.broker.core.node import NodeState
from fakebroker.broker.engine.faults.entries import ASKED_WHOLE, Parts, merge, mirrors_of, with_session
from fakebroker.broker.engine.faults.naming import FETCH
from fakebroker.broker.engine.faults.sending import Sending
from fakebroker.broker.engine.faults.spec import APPLIED, RECEIVED
from fakebroker.broker.engine.interposed_request import InterposedRequest
from fakebroker.broker.engine.work import Work
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.engine.dispatch import Route
    from fakebroker.broker.engine.engine import Engine
    from fakebroker.broker.engine.faults.fault import Fault, IncomingRequest

PRODUCE = 0


class Plan:
    """What all faults together make of one request."""

    def __init__(self, incoming: "IncomingRequest") -> None:
        self.incoming = incoming
        self.hits: list[Fault] = []
        self.deciding: Fault | None = None  # that with an error or an action
        self.delay_ms = {RECEIVED: 0, APPLIED: 0}
        self.throttle_ms: int | None = None

    def add(self, fault: "Fault") -> None:
        """A fault hits the request."""
        spec = fault.spec
        self.hits.append(fault)
        if spec.decides:
            self.deciding = fault
        self.delay_ms[spec.moment] += fault.delay_ms()
        if spec.throttle_ms is not None:
            self.throttle_ms = max(self.throttle_ms or 0, spec.throttle_ms)

    def action_at(self, moment: str) -> str | None:
        """The action that is to be done at a moment."""
        spec = self.deciding.spec if self.deciding else None
        return spec.action if spec and spec.moment == moment else None

    def error_at(self, moment: str) -> ErrorCode | None:
        """The error that the request has at a moment."""
        spec = self.deciding.spec if self.deciding else None
        return spec.error_code if spec and spec.moment == moment else None


class FaultedRequest(InterposedRequest):
    """A request that faults hit. To its handler it is the connection (`broker/apis/call.py`)."""

    def __init__(self, engine: "Engine", route: "Route", call: Call, request: Any, plan: Plan) -> None:
        """`route` is the ordinary one; `call` what the connection gave, `request` what it read."""
        super().__init__(engine, route, call, copy(call))  # those of a connection are shared by successive requests
        self._request = request
        self._plan = plan
        self._incarnation = call.node.incarnation
        self._is_applied = False
        self._response: Any = None
        self._errors: list[Any] = []  # entries to be merged into the answer
        self._mute_ms = 0  # of a client that is throttled
        self._deadline = Deadline(_nothing, owner=self)

    def begin(self) -> None:
        """The request was received."""
        self._outer.on_close(self._gone)
        self._wait(RECEIVED, self._received)

    # What the handler's call asks of its connection

    def answer(self, call: Call, response: Any) -> None:
        """The handler's answer; None: there is none."""
        if call.is_answered:
            raise RuntimeError("a request was answered twice")
        self._guarded(lambda: self._applied(response))

    def answer_and_mute(self, call: Call, response: Any, mute_ms: int) -> None:
        """As `answer`, of a client that is throttled: what faults make of the answer comes before that."""
        self._mute_ms = mute_ms
        self.answer(call, response)

    # The way of the request

    def _received(self) -> None:
        """What the faults want before the request is applied."""
        plan, action = self._plan, self._plan.action_at(RECEIVED)
        if self.is_gone:
            if action is None and plan.error_at(RECEIVED) is None:
                self._apply(self._request)
        elif action == "disconnect":
            self._disconnect()
        elif action == "drop-answer":
            self._drop()
        elif action == "stall-reading":
            self._connection.stall(True)
            self._after(self._stall_ms(), self._stalled)
        else:
            self._take_up()

    def _stalled(self) -> None:
        if not self.is_gone:
            self._connection.stall(False)
        self._take_up()

    def _take_up(self) -> None:
        """Apply all of the request, or what the error leaves of it."""
        code = self._plan.error_at(RECEIVED)
        if code is None:
            self._apply(self._request)
            return
        parts = self._parts()
        if parts is None:
            self._applied(self._error(code))
            return
        self._errors = parts.errors(self._route.response, self._route.version, code)
        rest = self._request if self._route.api_key in ASKED_WHOLE else parts.rest
        if rest is None:
            self._applied(None if self._wants_no_answer else self._route.response())
            return
        if self._route.api_key == FETCH:
            rest = copy(rest)
            rest.max_wait_ms = 0  # a broker that has an error to tell does not wait for records (FT-5)
        self._apply(rest)

    def _apply(self, request: Any) -> None:
        """Let the handler have it, unless the process that received it ended while it waited."""
        call = self._call
        if call.node.incarnation != self._incarnation:
            return
        call.now = self._engine.now
        try:
            response = self._route.handle(call, request)
        except Exception as error:
            self._raised(error)
        else:
            if response is not None:
                self._applied(response)

    def _applied(self, response: Any) -> None:
        """The handler has answered, or the request is answered without it."""
        self._done()
        self._response = response
        self._wait(APPLIED, self._respond)

    def _done(self) -> None:
        self._is_applied = True
        super()._done()

    def _respond(self) -> None:
        """What the faults want of the answer."""
        plan, response = self._plan, self._response
        action, code = plan.action_at(APPLIED), plan.error_at(APPLIED)
        if self.is_gone:
            return
        if action == "disconnect":
            self._disconnect()
            return
        if action == "drop-answer":
            self._drop()
            return
        has_error = bool(self._errors) or plan.error_at(RECEIVED) is not None
        if code is not None:
            has_error = True
            parts = self._parts()
            if parts is None:
                response = self._error(code)
            else:
                self._errors = parts.errors(self._route.response, self._route.version, code)
        if has_error and self._wants_no_answer:
            self._disconnect()  # as Kafka tells a producer that wants no answers of an error (PD-5)
            return
        self._send(response)

    def _send(self, response: Any) -> None:
        if response is not None and (self._errors or self._plan.throttle_ms is not None):
            response = copy(response)  # the handler may keep its own
            merge(response, self._errors)
            if self._plan.throttle_ms is not None and hasattr(response, "throttle_time_ms"):
                response.throttle_time_ms = self._plan.throttle_ms
        fault = self._plan.deciding
        connection: Any = self._connection
        if (
            response is None
            or fault is None
            or fault.spec.action is None
            or (fault.spec.action == "stall-reading" and fault.spec.moment == RECEIVED)
        ):
            if self._mute_ms > 0:
                from fakebroker.broker.engine.quotas.muting import answer_and_mute

                answer_and_mute(connection, self._outer, response, self._mute_ms)
            else:
                connection.answer(self._outer, response)
        else:
            Sending(connection, self._outer, self._route, fault, self._after).send(response)

    def _disconnect(self) -> None:
        connection: Any = self._connection
        connection.note(None)
        connection.end(str(self._plan.deciding))

    def _drop(self) -> None:
        """The request stays parked for as long as the client waits."""
        connection: Any = self._connection
        self._is_applied = True
        connection.note(None)

    # What these need

    def _parts(self) -> Parts | None:
        """The request in the entries that the deciding fault means, and the rest; None if it means it as a whole."""
        fault = self._plan.deciding
        assert fault is not None
        spec = fault.spec
        is_of_entries = spec.topic is not None or spec.partition is not None
        if self._request is None or (not is_of_entries and spec.group is None):
            return None
        mirrors = mirrors_of(self._route.api_key, of_groups=not is_of_entries)
        request = with_session(self._outer, self._request)
        parts = Parts(request, mirrors, fault.chooses, self._call.cluster.topics)
        return parts if parts.chosen is not None else None

    def _error(self, code: ErrorCode) -> Any:
        return self._route.error_response(self._request, self._route.version, code)

    @property
    def _wants_no_answer(self) -> bool:
        return self._route.api_key == PRODUCE and self._request.acks == 0

    def _stall_ms(self) -> int:
        assert self._plan.deciding is not None
        return self._plan.deciding.stall_ms

    def _wait(self, moment: str, then: Callable[[], None]) -> None:
        """Delay and run what the faults want at a moment, then go on."""
        runs = [fault for fault in self._plan.hits if fault.spec.run is not None and fault.spec.moment == moment]
        if runs:
            self._after(self._plan.delay_ms[moment], lambda: self._run(runs, then))
        else:
            self._after(self._plan.delay_ms[moment], then)

    def _after(self, delay_ms: int, then: Callable[[], None]) -> None:
        """Go on after a time; at once if there is none."""
        if delay_ms:
            self._deadline.action = lambda now: self._awoken(then, now)
            self._engine.cluster.timers.mono.arm(self._deadline, self._engine.now.mono_ms + delay_ms)
        else:
            self._guarded(then)

    def _awoken(self, then: Callable[[], None], now: Instant) -> None:
        """The time is over; on a node that is frozen, when it is thawed."""
        node = self._call.node
        if node.state is NodeState.FROZEN:
            node.run_when_thawed(self._deadline, now)
        else:
            self._guarded(then)

    def _run(self, faults: "list[Fault]", then: Callable[[], None]) -> None:
        """Run the test's functions between two turns: they may do to the broker what any test may."""
        self._engine.begin(Work(self, self._call, self._run_step(faults, then), must_finish=not self._is_applied))

    def _run_step(self, faults: "list[Fault]", then: Callable[[], None]) -> Generator[None, None, None]:
        for fault in faults:
            assert fault.spec.run is not None
            try:
                fault.spec.run(self._plan.incoming)
            except Exception as error:  # of the test's function
                self._engine.failed(error)
        self._guarded(then)
        return
        yield  # makes it a generator

    def _gone(self, now: Instant) -> None:
        """The client went away. What waits to be applied still is."""
        if self._is_applied:
            self._deadline.end()
        super()._gone(now)


def _nothing(_now: Instant) -> None:
    """What an unarmed deadline does."""
