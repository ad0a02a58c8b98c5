"""What one broker measures of its clients, and for how long they are throttled (KIP-124, KIP-219, KIP-599, KIP-612)."""

from hashlib import sha256
from math import floor
from typing import NamedTuple

from fakebroker.broker.core.quotas.client_quotas import (
    CONNECTION_CREATION_RATE,
    CONTROLLER_MUTATION_RATE,
    REQUEST_PERCENTAGE,
    Applied,
    ClientQuotas,
    Entity,
    Scope,
)
from fakebroker.broker.core.quotas.rates import TokenBucket, Window, WindowedRate

_MAX_METERS = 1024  # before those are dropped that have nothing to say any more; then twice as many as are left
_LONGEST_NAME = 64  # characters; a client chooses its id, of up to 32 KB, and another with each request
_LONG_MAX = 2**63 - 1
_BOUNDED = (REQUEST_PERCENTAGE, CONNECTION_CREATION_RATE)  # throttled for one sample's time at most

_Measured = tuple[str | bytes, str | bytes]
"""A scope of which long names are digests."""


class Violation(NamedTuple):
    """A client went beyond a quota: which, of whom, how fast it was, and for how long it is throttled.

    `measured` and `limit` are per second; for `controller_mutation_rate`, `measured` is how many tokens there are.
    """

    key: str
    entity: Entity
    measured: float
    limit: float
    throttle_ms: int


class Meters:
    """The meters of one broker, or of the controller. What nobody has a quota for is not measured.

    `window` is that of rates, `controller_window` that of tokens.
    """

    def __init__(self, quotas: ClientQuotas, window: Window, controller_window: Window) -> None:
        self._quotas = quotas
        self._window = window
        self._controller_window = controller_window
        self._rates: dict[tuple[str, _Measured], WindowedRate] = {}
        self._buckets: dict[_Measured, TokenBucket] = {}
        self._most_rates = self._most_buckets = _MAX_METERS

    def record(self, key: str, user: str, client_id: str, value: float, now_ms: int) -> Violation | None:
        """Something that a quota of `key` counts happened. Returns the violation, if it is one."""
        if not self._quotas.has(key):
            return None
        applied = self._quotas.of_client(key, user, client_id)
        return self._record(key, applied, value, now_ms)

    def take_back(self, key: str, user: str, client_id: str, value: float, now_ms: int) -> None:
        """What was recorded does not happen after all."""
        if self._quotas.has(key):
            self._rate(key, self._quotas.of_client(key, user, client_id).scope, now_ms).record(-value, now_ms)

    def most_in_window(self, key: str, user: str, client_id: str) -> float | None:
        """What a client that did nothing for long may do at once without a violation; None: whatever it likes."""
        if not self._quotas.has(key):
            return None
        limit = self._quotas.of_client(key, user, client_id).limit
        return None if limit is None else limit * (self._window.samples - 1) * self._window.size_ms / 1000

    def connection(self, address: str, now_ms: int) -> Violation | None:
        """An address connects. One that does so too often is not counted, because it is not let in."""
        applied = self._quotas.of_address(address)
        if applied.limit is None:
            return None
        violation = self._record(CONNECTION_CREATION_RATE, applied, 1, now_ms)
        if violation is not None:
            self._rate(CONNECTION_CREATION_RATE, applied.scope, now_ms).record(-1, now_ms)
        return violation

    def mutation(
        self, user: str, client_id: str, partitions: int, now_ms: int, *, is_strict: bool
    ) -> tuple[bool, Violation | None]:
        """A client wants partitions made or deleted. Returns whether it may, and the violation, if it is one.

        Strict: not while it owes tokens. Else it always may, and is throttled when it owes some afterwards (KIP-599).
        """
        if not self._quotas.has(CONTROLLER_MUTATION_RATE):
            return True, None
        applied = self._quotas.of_client(CONTROLLER_MUTATION_RATE, user, client_id)
        limit = applied.limit
        if limit is None:
            return True, None
        bucket = self._bucket(applied.scope, now_ms)
        may = not is_strict or bucket.tokens(limit, now_ms) >= 0
        if may:
            bucket.take(partitions, limit, now_ms)
        tokens = bucket.tokens(limit, now_ms)
        if tokens >= 0 or (is_strict and may):
            return may, None
        assert applied.entity is not None
        throttle_ms = _as_int(_rounded(-tokens / limit * 1000))
        return may, Violation(CONTROLLER_MUTATION_RATE, applied.entity, tokens, limit, throttle_ms)

    def _record(self, key: str, applied: Applied, value: float, now_ms: int) -> Violation | None:
        rate = self._rate(key, applied.scope, now_ms)
        rate.record(value, now_ms)
        if applied.limit is None or applied.entity is None:
            return None
        measured, limit = rate.per_second(now_ms), applied.limit
        if not measured > limit:  # nothing is beyond a quota that is not a number
            return None
        throttle_ms = _rounded((measured - limit) / limit * rate.span_ms(now_ms))
        if key in _BOUNDED:
            throttle_ms = min(throttle_ms, self._window.size_ms)
        return Violation(key, applied.entity, measured, limit, _as_int(throttle_ms))

    def _rate(self, key: str, scope: Scope, now_ms: int) -> WindowedRate:
        measured = _measured(scope)
        rate = self._rates.get((key, measured))
        if rate is None:
            if len(self._rates) >= self._most_rates:
                self._rates = {name: each for name, each in self._rates.items() if not each.is_idle(now_ms)}
                self._most_rates = max(_MAX_METERS, 2 * len(self._rates))
            rate = self._rates[key, measured] = WindowedRate(self._window)
        return rate

    def _bucket(self, scope: Scope, now_ms: int) -> TokenBucket:
        measured = _measured(scope)
        bucket = self._buckets.get(measured)
        if bucket is None:
            if len(self._buckets) >= self._most_buckets:
                self._buckets = {name: each for name, each in self._buckets.items() if not each.is_full(now_ms)}
                self._most_buckets = max(_MAX_METERS, 2 * len(self._buckets))
            bucket = self._buckets[measured] = TokenBucket(self._controller_window)
        return bucket


def _measured(scope: Scope) -> _Measured:
    """By what a meter is known. Long names are not kept."""
    return _short(scope.user), _short(scope.client_id)


def _short(name: str) -> str | bytes:
    return name if len(name) <= _LONGEST_NAME else sha256(name.encode("utf-8", "surrogatepass")).digest()


def _rounded(value: float) -> int:
    """To the nearest whole number, a half up, as Java rounds: to 64 bits."""
    return floor(value + 0.5) if value < 2.0**62 else _LONG_MAX


def _as_int(throttle_ms: int) -> int:
    """As a signed number of 32 bits: what is longer than 24 days wraps, and is no throttling if that is below zero."""
    return (throttle_ms + 2**31) % 2**32 - 2**31
