"""What one request costs its client, by the quotas that concern it (QU-7).

Of several quotas that are violated, that with the longest time counts.
"""

from copy import copy
from typing import TYPE_CHECKING

from fakebroker.broker.core.quotas.client_quotas import CONSUMER_BYTE_RATE, PRODUCER_BYTE_RATE, REQUEST_PERCENTAGE
from fakebroker.broker.core.quotas.meters import Meters, Violation
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.registry import first_strict

if TYPE_CHECKING:
    from fakebroker.broker.engine.exchange import Exchange
    from fakebroker.protocol.schema import Message

_PERCENT_PER_US = 100 / 1_000_000
_EXCEEDED = "The throttling quota has been exceeded."
_SIZE_BYTES = 4  # the length before a response, which Kafka counts with a Fetch or ShareFetch


class RequestMeter:
    """The meter of one request; to its handler the `RequestQuota` (broker/apis/call.py)."""

    def __init__(self, meters: Meters, controller: Meters, request_time_us: int, exchange: "Exchange") -> None:
        """`controller` are the controller's meters; `meters` those of who answers the request."""
        self._meters = meters
        self._controller = controller
        self._percent = request_time_us * _PERCENT_PER_US
        self._exchange = exchange
        self._client = (exchange.principal.name, exchange.call.client_id or "")
        self._is_measured = False
        self._violation: Violation | None = None  # that with the longest throttle time

    # What the handler asks

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
        is_strict = self._exchange.call.version >= first_strict(self._exchange.route.api_key)
        user, client_id = self._client
        may, violation = self._controller.mutation(user, client_id, partitions, self._now_ms, is_strict=is_strict)
        if violation is not None:
            self._violation = violation  # the last one counts
        if not may:
            raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, _EXCEEDED)

    def made(self, partitions: int) -> None:
        """See RequestQuota. Brokers forward a CreateTopics of the newest version, in the client's name."""
        user, client_id = self._client
        may, _ = self._controller.mutation(user, client_id, partitions, self._now_ms, is_strict=True)
        if not may:
            raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, _EXCEEDED)

    # The answer

    def measure(self, response: "Message | None") -> Violation | None:
        """The request has its answer. Returns the quota for which the client is throttled; None: it is not."""
        if not self._is_measured:
            if self._exchange.route.api_key == ApiKey.PRODUCE:
                size_bytes = self._exchange.request_bytes
                self._note(self._meters.record(PRODUCER_BYTE_RATE, *self._client, size_bytes, self._now_ms))
            if response is not None:  # of a Produce with acks 0 the time is not counted
                self._note(self._record_time())
        return self._violation if self._throttle_ms else None

    def _record_time(self) -> Violation | None:
        return self._meters.record(REQUEST_PERCENTAGE, *self._client, self._percent, self._now_ms)

    def _note(self, violation: Violation | None) -> None:
        if violation is not None and violation.throttle_ms > self._throttle_ms:
            self._violation = violation

    @property
    def _throttle_ms(self) -> int:
        return 0 if self._violation is None else max(0, self._violation.throttle_ms)

    @property
    def _now_ms(self) -> int:
        return self._exchange.engine.now.mono_ms


def with_throttle_time(response: "Message | None", throttle_ms: int) -> "Message | None":
    """The answer with the throttle time in it, if it has a field for that."""
    if response is None or not hasattr(response, "throttle_time_ms"):
        return response
    response = copy(response)  # the handler may keep its own
    response.throttle_time_ms = throttle_ms
    return response
