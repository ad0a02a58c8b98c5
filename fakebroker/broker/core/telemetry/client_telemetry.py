"""What brokers know of clients that push metrics, and what these pushed (KIP-714, TE-2 to TE-5).

Times are milliseconds of the monotonic reading. Kafka: `ClientMetricsManager`, `ClientMetricsInstance`.
"""

from collections import deque
from collections.abc import Generator, Iterator, Mapping
from typing import NamedTuple, Protocol

from fakebroker.broker.core.deadlines import Timers
from fakebroker.broker.core.telemetry.subscriptions import (
    STATES_PER_STEP,
    ClientIdentity,
    Wanted,
    subscription_id,
    wanted_of,
)
from fakebroker.protocol.errors import ErrorCode, KafkaError

MAX_INSTANCES = 16_384  # that a broker remembers
MAX_PUSHES = 10_000
MAX_PUSHED_BYTES = 8 * 1024 * 1024
_NEVER_MS = -(1 << 62)
_ASKS_AGAIN = (ErrorCode.UNKNOWN_SUBSCRIPTION_ID, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)


_Key = tuple[int, int, bytes, str]  # of an instance: node, its process, id, owner


class TelemetryNode(Protocol):
    """The broker that a client is connected to. `incarnation` counts its processes."""

    @property
    def id(self) -> int: ...

    @property
    def incarnation(self) -> int: ...


class TelemetryHost(Protocol):
    """What the cluster knows of subscriptions. `Cluster` implements it."""

    @property
    def timers(self) -> Timers:
        """Whose passes say how long a step takes."""

    @property
    def client_metrics(self) -> Mapping[str, Mapping[str, str]]:
        """The configs of each subscription."""

    @property
    def client_metrics_changes(self) -> int:
        """How often they were changed."""

    def new_uuid(self) -> bytes:
        """A random UUID."""


class Push(NamedTuple):
    """Metrics that a client pushed: who, when (time of day), and the payload without compression."""

    instance_id: bytes
    client_id: str | None
    principal: str
    node_id: int
    wall_ms: int
    is_terminating: bool
    payload: bytes

    @property
    def size_bytes(self) -> int:
        """Roughly what it keeps."""
        return len(self.payload) + len(self.client_id or "")


class Instance:
    """A client as one broker knows it, by the id that it was given: how often it is asked, and when it came last.

    What it is asked for may be very much: that is found out again when it asks (`ClientTelemetry.wanted`).
    """

    __slots__ = (
        "asked_ms",
        "changes",
        "connection_id",
        "interval_ms",
        "is_terminating",
        "last_error",
        "pushed_ms",
        "subscription_id",
    )

    def __init__(self, instance_id: bytes, wanted: Wanted, changes: int) -> None:
        self.interval_ms = wanted.interval_ms
        self.subscription_id = subscription_id(wanted, instance_id)
        self.changes = changes  # of the resources, when it was found out what is wanted
        self.asked_ms = self.pushed_ms = _NEVER_MS
        self.connection_id = 0  # on which it came last
        self.is_terminating = False
        self.last_error = ErrorCode.NONE

    def ask(self, now_ms: int) -> None:
        """GetTelemetrySubscriptions. Raises KafkaError(THROTTLING_QUOTA_EXCEEDED) before its time has come (TE-3)."""
        if now_ms - max(self.asked_ms, self.pushed_ms) >= self.interval_ms:
            self.asked_ms = now_ms
        elif self.last_error not in _ASKS_AGAIN:
            raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED)
        self.last_error = ErrorCode.NONE

    def begin_push(self, now_ms: int, *, is_terminating: bool) -> None:
        """PushTelemetry, as far as it is about when. Raises KafkaError (TE-4)."""
        if self.is_terminating:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        if self.asked_ms > self.pushed_ms or now_ms - self.pushed_ms >= self.interval_ms:
            self.pushed_ms = now_ms
        elif not is_terminating:
            raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED)


class ClientTelemetry:
    """The clients of all brokers, and what they pushed: the last `MAX_PUSHES`, or `MAX_PUSHED_BYTES` of them."""

    def __init__(self, cluster: TelemetryHost) -> None:
        self._cluster = cluster
        self._instances: dict[_Key, Instance] = {}
        self._of_connections: dict[int, set[_Key]] = {}  # those that came on each last
        self._found: tuple[ClientIdentity, int, Wanted] | None = None  # the last that was found out, for who asks next
        self._pushes: deque[Push] = deque(maxlen=MAX_PUSHES)
        self._pushed_bytes = 0
        self.pushes_count = 0  # that there ever were

    def __len__(self) -> int:
        return len(self._pushes)

    def __iter__(self) -> Iterator[Push]:
        return iter(list(self._pushes))

    def instance(
        self, node: TelemetryNode, connection_id: int, instance_id: bytes, owner: str, identity: ClientIdentity
    ) -> Generator[None, None, Instance]:
        """A client of a broker; it is made if it is not known or if the resources have changed since, in steps.

        `owner` is its principal: ids follow from the seed, so that others could guess them (TE-2).
        """
        key = (node.id, node.incarnation, instance_id, owner)
        known, changes = self._instances.get(key), self._cluster.client_metrics_changes
        if known is None or known.changes != changes:
            wanted = yield from self._wanted_of(identity)
            known = Instance(instance_id, wanted, changes)
            self._found = identity, changes, wanted
        self._forget(key)
        while len(self._instances) >= MAX_INSTANCES:
            self._forget(next(iter(self._instances)))
        known.connection_id = connection_id
        self._instances[key] = known  # the last one used is the last
        self._of_connections.setdefault(connection_id, set()).add(key)
        return known

    def wanted(self, identity: ClientIdentity) -> Generator[None, None, Wanted]:
        """What a client is asked for, in steps; mostly it was found out just before, by `instance`."""
        found, self._found = self._found, None
        if found is not None and found[:2] == (identity, self._cluster.client_metrics_changes):
            return found[2]
        return (yield from self._wanted_of(identity))

    def _wanted_of(self, identity: ClientIdentity) -> Generator[None, None, Wanted]:
        pace = self._cluster.timers.passes.pace(STATES_PER_STEP)
        return wanted_of(list(self._cluster.client_metrics.values()), identity, pace)

    def forget(self, connection_id: int) -> None:
        """A connection is closed: the clients that came on it last are forgotten."""
        for key in self._of_connections.pop(connection_id, ()):
            del self._instances[key]

    def new_instance_id(self) -> bytes:
        """An id for a client that has none."""
        return self._cluster.new_uuid()

    def keep(self, push: Push) -> None:
        """A client pushed metrics."""
        if len(self._pushes) == MAX_PUSHES:
            self._drop_oldest()
        self._pushes.append(push)
        self._pushed_bytes += push.size_bytes
        self.pushes_count += 1
        while self._pushed_bytes > MAX_PUSHED_BYTES and len(self._pushes) > 1:
            self._drop_oldest()

    def clear(self) -> None:
        """Delete all pushes."""
        self._pushes.clear()
        self._pushed_bytes = 0

    def _forget(self, key: _Key) -> None:
        """Also that its connection has it, if it is there."""
        known = self._instances.pop(key, None)
        if known is None:
            return
        keys = self._of_connections[known.connection_id]
        keys.remove(key)
        if not keys:
            del self._of_connections[known.connection_id]

    def _drop_oldest(self) -> None:
        self._pushed_bytes -= self._pushes.popleft().size_bytes
