"""One request that quotas concern: measured when it is answered, its client throttled if it went beyond one (QU-7).

The answer goes out at once, with the throttle time in it, and the connection is not read until that is over (KIP-219).
Of several quotas that are violated, that with the longest time counts.
"""

from copy import copy
from typing import TYPE_CHECKING, Any

from fakebroker.broker.apis.call import Call
from fakebroker.broker.core.quotas.client_quotas import CONSUMER_BYTE_RATE, PRODUCER_BYTE_RATE, REQUEST_PERCENTAGE
from fakebroker.broker.core.quotas.meters import Violation
from fakebroker.broker.engine.interposed_request import InterposedRequest
from fakebroker.broker.engine.quotas.muting import answer_and_mute
from fakebroker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from fakebroker.broker.engine.dispatch import Route
    from fakebroker.broker.engine.engine import Engine
    from fakebroker.broker.engine.quotas.throttling import Throttling

PRODUCE, FETCH, CREATE_TOPICS, DELETE_TOPICS, CREATE_PARTITIONS = 0, 1, 19, 20, 37
STRICT_FROM = {CREATE_TOPICS: 6, DELETE_TOPICS: 5, CREATE_PARTITIONS: 3}
_PERCENT_PER_US = 100 / 1_000_000
_SIZE_BYTES = 4  # the length before a response, which Kafka counts with a Fetch


class MeteredCall(Call):
    """A call of a client that may have quotas."""

    __slots__ = ("quota",)

    def __init__(self, outer: Call) -> None:
        super().__init__(outer.cluster, outer.node, outer.listener, outer.connection, outer.client_host)
        self.api_key, self.version, self.client_id, self.now = outer.api_key, outer.version, outer.client_id, outer.now


class MeasuredRequest(InterposedRequest):
    """A request whose client may have quotas; to its handler also the `RequestQuota` (broker/apis/call.py)."""

    def __init__(self, engine: "Engine", throttling: "Throttling", route: "Route", outer: Call, request: Any) -> None:
        call = MeteredCall(outer)
        super().__init__(engine, route, outer, call)
        call.quota = self
        self._throttling = throttling
        self._request = request
        self._meters = throttling.meters_for(route.api_key, outer.node)
        self._client = (self.principal.name, outer.client_id or "")
        self._request_bytes = len(self.frame)
        self._is_measured = False
        self._violation: Violation | None = None  # that with the longest throttle time

    def begin(self) -> Any:
        """The answer, or None: it comes later, or went out before the client was muted."""
        try:
            response = self._route.handle(self._call, self._request)
        except KafkaError as error:
            if self._call.is_answered:
                raise
            response = self._error(error.code)
        if response is None:
            self._outer.on_close(self._gone)
            return None
        self._done()
        response, mute_ms = self._measured(response)
        if not mute_ms:
            return response
        answer_and_mute(self._connection, self._outer, response, mute_ms)
        return None

    # What the handler asks

    def answer(self, call: Call, response: Any) -> None:
        """The handler's answer; None: there is none."""
        if call.is_answered:
            raise RuntimeError("a request was answered twice")
        self._guarded(lambda: self._applied(response))

    @property
    def fetch_bytes(self) -> int | None:
        """See RequestQuota."""
        most = self._meters.most_in_window(CONSUMER_BYTE_RATE, *self._client)
        return None if most is None else int(most)

    def fetched(self, size_bytes: int) -> int:
        """See RequestQuota."""
        size_bytes += _SIZE_BYTES
        self._is_measured = True
        now_ms = self._now_ms
        by_time = self._record_time()
        by_bytes = self._meters.record(CONSUMER_BYTE_RATE, *self._client, size_bytes, now_ms)
        self._note(by_time)
        self._note(by_bytes)
        throttle_ms = self._throttle_ms
        if throttle_ms:
            self._meters.take_back(CONSUMER_BYTE_RATE, *self._client, size_bytes, now_ms)
        return throttle_ms

    def mutated(self, partitions: int) -> None:
        """See RequestQuota."""
        is_strict = self._call.version >= STRICT_FROM[self._route.api_key]
        user, client_id = self._client
        may, violation = self._meters.mutation(user, client_id, partitions, self._now_ms, is_strict=is_strict)
        if violation is not None:
            self._violation = violation  # the last one counts
        if not may:
            raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, "The throttling quota has been exceeded.")

    # The answer

    def _applied(self, response: Any) -> None:
        self._done()
        response, mute_ms = self._measured(response)
        if mute_ms:
            answer_and_mute(self._connection, self._outer, response, mute_ms)
        else:
            self._connection.answer(self._outer, response)

    def _measured(self, response: Any) -> tuple[Any, int]:
        """The answer as the client gets it, and for how long it is muted."""
        if not self._is_measured:
            if self._route.api_key == PRODUCE:
                self._note(self._meters.record(PRODUCER_BYTE_RATE, *self._client, self._request_bytes, self._now_ms))
            if response is not None:  # of a Produce with acks 0 the time is not counted
                self._note(self._record_time())
        throttle_ms, violation = self._throttle_ms, self._violation
        if not throttle_ms or violation is None:
            return response, 0
        self._throttling.tell(violation, self, self._outer, self._route.name)
        if response is not None and hasattr(response, "throttle_time_ms"):
            response = copy(response)  # the handler may keep its own
            response.throttle_time_ms = throttle_ms
        return response, throttle_ms

    def _record_time(self) -> Violation | None:
        percent = self._throttling.request_time_us * _PERCENT_PER_US
        return self._meters.record(REQUEST_PERCENTAGE, *self._client, percent, self._now_ms)

    def _note(self, violation: Violation | None) -> None:
        if violation is not None and violation.throttle_ms > self._throttle_ms:
            self._violation = violation

    @property
    def _throttle_ms(self) -> int:
        return 0 if self._violation is None else max(0, self._violation.throttle_ms)

    @property
    def _now_ms(self) -> int:
        return self._engine.now.mono_ms

    def _error(self, code: ErrorCode) -> Any:
        return self._route.error_response(self._request, self._route.version, code)
