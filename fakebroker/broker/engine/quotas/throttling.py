"""Quotas of one engine: which requests are measured, by which broker's meters, and what the journal says (QU-7).

Time is the monotonic reading of the broker's clock. The time that a request takes is not measured, so that the same
requests are throttled alike in every run and in virtual time, too: each is taken to keep a thread busy for
`fakebroker.request.time.us`.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from fakebroker.broker.core.events import ClientThrottled
from fakebroker.broker.core.quotas.client_quotas import (
    CONNECTION_CREATION_RATE,
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    ClientQuotas,
    entity_text,
)
from fakebroker.broker.core.quotas.meters import Meters, Violation
from fakebroker.broker.core.quotas.rates import Window
from fakebroker.broker.engine.dispatch import Layer, Route
from fakebroker.broker.engine.quotas.measured_request import (
    CREATE_PARTITIONS,
    CREATE_TOPICS,
    DELETE_TOPICS,
    FETCH,
    PRODUCE,
    MeasuredRequest,
)

if TYPE_CHECKING:
    from fakebroker.broker.apis.call import Call
    from fakebroker.broker.core.node import Node
    from fakebroker.broker.engine.connection import Connection
    from fakebroker.broker.engine.engine import Engine
    from fakebroker.protocol.listeners import Listener

# Requests that brokers pass on to the controller: it measures them, by itself.
FORWARDED = frozenset({19, 20, 30, 31, 33, 37, 38, 39, 40, 43, 44, 45, 46, 49, 51, 57, 64})
EXEMPT = frozenset({27})  # between brokers
_KEYS_OF_APIS = {
    PRODUCE: PRODUCER_BYTE_RATE,
    FETCH: CONSUMER_BYTE_RATE,
    CREATE_TOPICS: CONTROLLER_MUTATION_RATE,
    DELETE_TOPICS: CONTROLLER_MUTATION_RATE,
    CREATE_PARTITIONS: CONTROLLER_MUTATION_RATE,
}
_CONTROLLER = -1
MAX_CHARACTERS = 300  # of a name in the journal


class Throttling:
    """What an engine does about the quotas of its cluster. It is made when there are some for the first time."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self._meters: dict[int, tuple[int, Meters]] = {}  # by node: of which of its processes, and what that measured
        settings = engine.cluster.settings
        self.request_time_us = settings.get_int("fakebroker.request.time.us")

    @property
    def _quotas(self) -> ClientQuotas:
        return self._engine.cluster.client_quotas

    def install(self) -> None:
        """Have requests measured that some quota may concern, and no others."""
        has = self._quotas.has
        is_asked = any(map(has, (REQUEST_PERCENTAGE, *_KEYS_OF_APIS.values())))
        self._engine.alter_routes(Layer.QUOTAS, self._altered if is_asked else None)
        self._engine.connection_quota = self._connection if has(CONNECTION_CREATION_RATE) else None

    def _altered(self, route: Route) -> Route:
        has, key = self._quotas.has, _KEYS_OF_APIS.get(route.api_key)
        if route.api_key in EXEMPT or not (has(REQUEST_PERCENTAGE) or (key is not None and has(key))):
            return route
        return route.with_handler(partial(self._handle, route))

    def _handle(self, route: Route, call: "Call", request: Any) -> Any:
        """In place of the handler of `route`."""
        if route.api_key == FETCH and is_of_broker(request):
            return route.handle(call, request)
        return MeasuredRequest(self._engine, self, route, call, request).begin()

    def meters_for(self, api_key: int, node: "Node") -> Meters:
        """The meters that a request to a broker counts with: its own, or those of the controller."""
        if api_key in FORWARDED:
            return self._meters_of(_CONTROLLER, 0)
        return self._meters_of(node.id, node.incarnation)

    def _meters_of(self, node_id: int, incarnation: int) -> Meters:
        of_process, meters = self._meters.get(node_id, (-1, None))
        if meters is None or of_process != incarnation:
            meters = Meters(self._quotas, *self._windows())
            self._meters[node_id] = incarnation, meters
        return meters

    def _windows(self) -> tuple[Window, Window]:
        """Those of rates and of mutations."""
        get_int = self._engine.cluster.settings.get_int
        return (
            Window(get_int("quota.window.num"), get_int("quota.window.size.seconds") * 1000),
            Window(get_int("controller.quota.window.num"), get_int("controller.quota.window.size.seconds") * 1000),
        )

    def _connection(self, listener: "Listener", client_host: str) -> "NewConnection | None":
        """A client connects. Returns what makes its connection if its address does so too often, None if not."""
        node = self._engine.cluster.nodes[listener.node_id]
        meters = self._meters_of(node.id, node.incarnation)
        violation = meters.connection(client_host.removeprefix("/"), self._engine.now.mono_ms)
        return None if violation is None else partial(self._refused, violation)

    def _refused(self, violation: Violation, *arguments: Any) -> "Connection":
        from fakebroker.broker.engine.quotas.refused_connection import RefusedConnection

        connection = RefusedConnection(*arguments)
        self.tell(violation, connection, None, "")
        connection.close_after(violation.throttle_ms)
        return connection

    def tell(self, violation: Violation, connection: "Connection | Any", call: "Call | None", route: str) -> None:
        """Note in the journal that a client is throttled: for a request of API `route`, or without a `call` for
        connecting.
        """
        event = ClientThrottled(
            node_id=connection.listener.node_id if call is None else call.node.id,
            connection_id=connection.connection_id,
            client_id=None if call is None else call.client_id,
            principal=str(connection.principal)[:MAX_CHARACTERS],
            api=route,
            version=-1 if call is None else call.version,
            correlation_id=-1 if call is None else int.from_bytes(connection.head[:4], "big", signed=True),
            quota=violation.key,
            entity=entity_text(violation.entity)[: 2 * MAX_CHARACTERS],
            limit=violation.limit,
            measured=violation.measured,
            throttle_ms=violation.throttle_ms,
        )
        self._engine.journal.event(event, self._engine.now)


def is_of_broker(request: Any) -> bool:
    """Whether a Fetch says that it comes from a replica, which no client's quota concerns."""
    return bool(max(request.replica_id, request.replica_state.replica_id) >= 0)


NewConnection = Callable[..., "Connection"]
ConnectionQuota = Callable[["Listener", str], NewConnection | None]
