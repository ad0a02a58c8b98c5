"""The way of one request that faults hit, from the moment it was received to the last byte of its answer.

RECEIVED  delay and run, then disconnect, drop, stall, or an error: the request is not handled, or in part
          the handler, behind the other stages
APPLIED   delay and run, then disconnect, drop, an error in place of the answer, throttle time
          the bytes of the answer (sending.py)
"""

from copy import copy
from typing import TYPE_CHECKING

from fakebroker.broker.engine.faults.actions import APPLIED, RECEIVED
from fakebroker.broker.engine.faults.entries import ASKED_WHOLE, Errors, Parts, merge, mirrors_of, with_session
from fakebroker.broker.engine.faults.sending import send_altered
from fakebroker.broker.engine.stages import Handle, NextTurn, Passage, Pause, Refuse
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.wire.messages.fetch import FetchRequest
from fakebroker.protocol.wire.messages.produce import ProduceRequest

if TYPE_CHECKING:
    from collections.abc import Generator

    from fakebroker.broker.engine.exchange import Exchange
    from fakebroker.broker.engine.faults.fault import Fault
    from fakebroker.broker.engine.faults.incoming import IncomingRequest
    from fakebroker.broker.engine.stages import Command
    from fakebroker.protocol.schema import Message


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
        throttle_ms = spec.fields.get("throttle_ms")
        if throttle_ms is not None:
            self.throttle_ms = max(self.throttle_ms or 0, throttle_ms)

    def action_at(self, moment: str) -> str | None:
        """The action that is to be done at a moment."""
        spec = self.deciding.spec if self.deciding else None
        return spec.fields.get("action") if spec and spec.moment == moment else None

    def error_at(self, moment: str) -> ErrorCode | None:
        """The error that the request has at a moment."""
        spec = self.deciding.spec if self.deciding else None
        return spec.error_code if spec and spec.moment == moment else None


class FaultedRequest:
    """A request that faults hit."""

    def __init__(self, exchange: "Exchange", request: "Message", plan: Plan) -> None:
        self._exchange = exchange
        self._request = request
        self._plan = plan
        self._errors: Errors = []  # entries to be merged into the answer

    def passage(self) -> Passage:
        """All of its way."""
        yield from self._wait(RECEIVED)
        response = yield from self._received()
        if self._exchange.is_settled:
            return None
        self._exchange.handled()
        yield from self._wait(APPLIED)
        if self._exchange.is_gone:
            return None
        return (yield from self._applied(response))

    def _received(self) -> Passage:
        """What the faults want before the request is handled, and then its answer."""
        exchange, plan = self._exchange, self._plan
        fault, action = plan.deciding, plan.action_at(RECEIVED)
        if exchange.is_gone and (action is not None or plan.error_at(RECEIVED) is not None):
            exchange.drop()  # nobody hears of the error, and the request is not handled
        elif action == "disconnect":
            exchange.disconnect(str(fault))
        elif action == "drop-answer":
            exchange.drop()
        elif action == "stall-reading" and fault is not None:
            exchange.stall(True)
            yield Pause(fault.stall_ms)
            exchange.stall(False)
        if exchange.is_settled:
            return None
        return (yield from self._take_up())

    def _take_up(self) -> Passage:
        """Have all of the request handled, or what the error leaves of it."""
        route, code = self._exchange.route, self._plan.error_at(RECEIVED)
        if code is None:
            return (yield from self._handle(self._request))
        parts = self._parts()
        if parts is None:
            return (yield Refuse(code))
        self._errors = parts.errors(route.response, route.version, code)
        rest = self._request if route.api_key in ASKED_WHOLE else parts.rest
        if rest is None:
            return None if self._wants_no_answer else route.response()
        if isinstance(rest, FetchRequest):
            rest = copy(rest)
            rest.max_wait_ms = 0  # a broker that has an error to tell does not wait for records (FT-5)
        return (yield from self._handle(rest))

    def _handle(self, request: "Message") -> Passage:
        try:
            return (yield Handle(request))
        except KafkaError as error:
            return (yield Refuse(error.code))

    def _applied(self, response: "Message | None") -> Passage:
        """What the faults want of the answer."""
        plan, exchange, route = self._plan, self._exchange, self._exchange.route
        fault, action, code = plan.deciding, plan.action_at(APPLIED), plan.error_at(APPLIED)
        if action == "disconnect":
            exchange.disconnect(str(fault))
            return None
        if action == "drop-answer":
            exchange.drop()
            return None
        if code is not None:
            parts = self._parts()
            if parts is None:
                response = yield Refuse(code)
            else:
                self._errors = parts.errors(route.response, route.version, code)
        has_error = bool(self._errors) or code is not None or plan.error_at(RECEIVED) is not None
        if has_error and self._wants_no_answer:
            exchange.disconnect(str(fault))  # as Kafka tells a producer that wants no answers of an error (PD-5)
            return None
        response = self._altered(response)
        if fault is not None and fault.spec.alters_answer and response is not None:
            return (yield from send_altered(exchange, fault, response))
        return response

    def _altered(self, response: "Message | None") -> "Message | None":
        """The answer with the entries that have an error, and with the throttle time."""
        throttle_ms = self._plan.throttle_ms
        if response is None or (not self._errors and throttle_ms is None):
            return response
        response = copy(response)  # the handler may keep its own
        merge(response, self._errors)
        if throttle_ms is not None and hasattr(response, "throttle_time_ms"):
            response.throttle_time_ms = throttle_ms
        return response

    # What these need

    def _parts(self) -> Parts | None:
        """The request in the entries that the deciding fault means, and the rest; None if it means it as a whole."""
        exchange, route, fault = self._exchange, self._exchange.route, self._plan.deciding
        assert fault is not None
        spec = fault.spec
        is_of_entries = "topic" in spec.fields or "partition" in spec.fields
        if not is_of_entries and "group" not in spec.fields:
            return None
        mirrors = mirrors_of(route.response, route.request, of_groups=not is_of_entries)
        request = with_session(exchange.call, self._request)
        parts = Parts(request, mirrors, fault.chooses, exchange.call.cluster.topics)
        return parts if parts.chosen is not None else None

    @property
    def _wants_no_answer(self) -> bool:
        return isinstance(self._request, ProduceRequest) and self._request.acks == 0

    def _wait(self, moment: str) -> "Generator[Command, Message | None, None]":
        """Delay and run what the faults want at a moment."""
        delay_ms = self._plan.delay_ms[moment]
        if delay_ms:
            yield Pause(delay_ms)
        hits = [fault.spec for fault in self._plan.hits if fault.spec.moment == moment]
        runs = [run for spec in hits if (run := spec.fields.get("run")) is not None]
        if runs:
            yield NextTurn()
        for run in runs:
            try:
                run(self._plan.incoming)
            except Exception as error:  # of the test's function
                self._exchange.engine.failed(error)
