"""Quotas of one engine: which requests are measured, by which broker's meters, and what the journal says (QU-7).

A request is measured when it is answered. The answer goes out at once, with the throttle time in it, and the connection
is not read until that is over (KIP-219).

Time is the monotonic reading of the broker's clock. The time that a request takes is not measured, so that the same
requests are throttled alike in every run and in virtual time, too: each is taken to keep a thread busy for
`fakebroker.request.time.us`.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

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
from fakebroker.broker.engine.quotas.request_meter import RequestMeter, with_throttle_time
from fakebroker.broker.engine.stages import Handle, Passage, StageKind, in_turns
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.messages.fetch import FetchRequest

if TYPE_CHECKING:
    from fakebroker.broker.engine.connection import Connection
    from fakebroker.broker.engine.dispatch import Dispatcher, Route
    from fakebroker.broker.engine.engine import Engine
    from fakebroker.broker.engine.exchange import Exchange
    from fakebroker.broker.engine.journal import Peer
    from fakebroker.protocol.listeners import Address, Listener
    from fakebroker.protocol.schema import Message

# Requests that brokers pass on to the controller: it measures them, by itself.
FORWARDED = frozenset(
    {
        ApiKey.CREATE_TOPICS,
        ApiKey.DELETE_TOPICS,
        ApiKey.CREATE_ACLS,
        ApiKey.DELETE_ACLS,
        ApiKey.ALTER_CONFIGS,
        ApiKey.CREATE_PARTITIONS,
        ApiKey.CREATE_DELEGATION_TOKEN,
        ApiKey.RENEW_DELEGATION_TOKEN,
        ApiKey.EXPIRE_DELEGATION_TOKEN,
        ApiKey.ELECT_LEADERS,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        ApiKey.LIST_PARTITION_REASSIGNMENTS,
        ApiKey.ALTER_CLIENT_QUOTAS,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        ApiKey.UPDATE_FEATURES,
        ApiKey.UNREGISTER_BROKER,
    }
)
EXEMPT = frozenset({ApiKey.WRITE_TXN_MARKERS})  # between brokers
_KEYS_OF_APIS: dict[int, str] = {
    ApiKey.PRODUCE: PRODUCER_BYTE_RATE,
    ApiKey.FETCH: CONSUMER_BYTE_RATE,
    ApiKey.SHARE_FETCH: CONSUMER_BYTE_RATE,
    ApiKey.CREATE_TOPICS: CONTROLLER_MUTATION_RATE,
    ApiKey.DELETE_TOPICS: CONTROLLER_MUTATION_RATE,
    ApiKey.CREATE_PARTITIONS: CONTROLLER_MUTATION_RATE,
    ApiKey.METADATA: CONTROLLER_MUTATION_RATE,  # which makes topics, as the next
    ApiKey.STREAMS_GROUP_HEARTBEAT: CONTROLLER_MUTATION_RATE,
}
_CONTROLLER = -1
MAX_CHARACTERS = 300  # of a name in the journal


class Throttling:
    """The stage of quotas: what an engine does about its cluster's. Made when there are some for the first time."""

    kind = StageKind.QUOTAS

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
        self._engine.put_stage(self.kind, self if is_asked else None)
        self._engine.connection_quota = self._connection if has(CONNECTION_CREATION_RATE) else None

    def concerns(self, route: "Route") -> bool:
        """Whether some quota may concern requests of a route."""
        has, key = self._quotas.has, _KEYS_OF_APIS.get(route.api_key)
        return route.api_key not in EXEMPT and (has(REQUEST_PERCENTAGE) or (key is not None and has(key)))

    def serve(self, exchange: "Exchange", request: "Message") -> Passage:
        """Measure a request when it is answered, and throttle its client if that went beyond a quota."""
        route, call = exchange.route, exchange.call
        if isinstance(request, FetchRequest) and is_of_broker(request):
            return (yield Handle(request))
        controller = self._meters_of(_CONTROLLER, 0)
        meters = controller if route.api_key in FORWARDED else self._meters_of(call.node.id, call.node.incarnation)
        call.quota = meter = RequestMeter(meters, controller, self.request_time_us, exchange)
        try:
            response = yield Handle(request)
        except KafkaError as error:
            response = yield from in_turns(exchange.route.error_in_steps(exchange.request, error.code))
        violation = meter.measure(response)
        if violation is None:
            return response
        self._note_request(violation, exchange)
        exchange.mute_ms = violation.throttle_ms
        return with_throttle_time(response, violation.throttle_ms)

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

    def _refused(
        self,
        violation: Violation,
        engine: "Engine",
        listener: "Listener",
        peer: "Peer",
        local_address: "Address",
        dispatcher: "Dispatcher",
    ) -> "Connection":
        from fakebroker.broker.engine.quotas.refused_connection import RefusedConnection

        connection = RefusedConnection(engine, listener, peer, local_address, dispatcher)
        event = _throttled(violation, listener.node_id, connection.connection_id, str(connection.principal))
        engine.journal.event(event, engine.now)
        connection.close_after(violation.throttle_ms)
        return connection

    def _note_request(self, violation: Violation, exchange: "Exchange") -> None:
        call = exchange.call
        event = _throttled(violation, call.node.id, exchange.connection_id, str(exchange.principal))
        event = event._replace(
            client_id=call.client_id,
            api=exchange.route.name,
            version=call.version,
            correlation_id=exchange.correlation_id,
        )
        self._engine.journal.event(event, self._engine.now)


def _throttled(violation: Violation, node_id: int, connection_id: int, principal: str) -> ClientThrottled:
    """The event of a client that is throttled for connecting; of one with a request it says more."""
    return ClientThrottled(
        node_id=node_id,
        connection_id=connection_id,
        client_id=None,
        principal=principal[:MAX_CHARACTERS],
        api="",
        version=-1,
        correlation_id=-1,
        quota=violation.key,
        entity=entity_text(violation.entity)[: 2 * MAX_CHARACTERS],
        limit=violation.limit,
        measured=violation.measured,
        throttle_ms=violation.throttle_ms,
    )


def is_of_broker(request: FetchRequest) -> bool:
    """Whether a Fetch says that it comes from a replica, which no client's quota concerns."""
    return max(request.replica_id, request.replica_state.replica_id) >= 0


NewConnection = Callable[..., "Connection"]
ConnectionQuota = Callable[["Listener", str], NewConnection | None]
