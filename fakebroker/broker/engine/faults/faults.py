"""All faults of an engine, in the order in which they were set, and what they make of a request.

Every fault counts each request that it means (`nth`, `every`), whatever the others do. Delays of several add up, of
throttle times the longest counts, and every `run` is run. What becomes of the answer (`error`, `action`) only one can
say: the first that is due; later ones pass that request over, and have no hit.
"""

from random import Random
from typing import TYPE_CHECKING

from fakebroker.broker.core.events import FaultHit
from fakebroker.broker.core.security.principals import ANONYMOUS
from fakebroker.broker.engine.faults.entries import named_with_session, names_of_session
from fakebroker.broker.engine.faults.fault import Fault
from fakebroker.broker.engine.faults.incoming import IncomingRequest
from fakebroker.broker.engine.faults.naming import nameable, names_of, transactional_ids_of
from fakebroker.broker.engine.faults.passage import FaultedRequest, Plan
from fakebroker.broker.engine.faults.patterns import api_names, version_range
from fakebroker.broker.engine.faults.spec import FaultSpec
from fakebroker.broker.engine.stages import Command, Handle, Passage, StageKind, in_turns
from fakebroker.protocol.errors import InvalidArgument, UnknownThing
from fakebroker.protocol.listeners import PLAINTEXT
from fakebroker.protocol.pace import has_any
from fakebroker.protocol.wildcards import is_like
from fakebroker.protocol.wire.registry import APIS

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from typing import TypeAlias, TypeVar

    from fakebroker.broker.apis.call import Call
    from fakebroker.broker.engine.dispatch import Route
    from fakebroker.broker.engine.engine import Engine
    from fakebroker.broker.engine.exchange import Exchange
    from fakebroker.protocol.schema import Message
    from fakebroker.protocol.schema.message import Declaration

    T = TypeVar("T")
    Judging: TypeAlias = Generator[Command, Message | None, T]

NAMES_PER_STEP = 5_000


class Faults:
    """The faults of one engine, and the stage that requests go through while there are some."""

    kind = StageKind.FAULTS

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self._faults: list[Fault] = []
        self._count = 0  # of all faults ever

    def __iter__(self) -> "Iterator[Fault]":
        return iter(tuple(self._faults))

    def __len__(self) -> int:
        return len(self._faults)

    def add(self, spec: FaultSpec) -> Fault:
        """Set a fault, after those that are set. Raises InvalidArgument for what does not exist here."""
        keys = self._api_keys(spec)
        _check_nameable(spec, keys)
        _check_throttle(spec, keys)
        self._check_principal(spec)
        nodes = self._engine.cluster.nodes
        if spec.fields.get("node") is not None and spec.fields.get("node") not in nodes:
            raise UnknownThing(
                "node",
                spec.fields.get("node"),
                f"there is no node {spec.fields.get('node')}, only {', '.join(map(str, nodes))}",
            )
        self._count += 1
        # A source of its own for each fault: what else happens in the broker does not change whom it hits.
        random = Random(f"fault {self._count} of seed {self._engine.cluster.seed}")
        fault = Fault(self._count, spec, keys, random)
        self._faults.append(fault)
        self.install()
        return fault

    def remove(self, fault: Fault) -> None:
        """Remove a fault; does nothing if it is removed. What becomes of requests that it hit is not changed."""
        if fault in self._faults:
            self._faults.remove(fault)
            self.install()

    def clear(self) -> None:
        """Remove all."""
        self._faults.clear()
        self.install()

    def install(self) -> None:
        """Have requests go through faults while there are some."""
        self._engine.put_stage(self.kind, self if self._faults else None)

    def concerns(self, route: "Route") -> bool:
        """Whether some fault may mean requests of a route."""
        return any(fault.concerns(route.api_key, route.version) for fault in self._faults)

    def serve(self, exchange: "Exchange", request: "Message") -> Passage:
        """Do to a request what the faults make of it."""
        plan = None if exchange.is_gone else (yield from self._judge(exchange, request))
        if plan is None:
            return (yield Handle(request))
        return (yield from FaultedRequest(exchange, request, plan).passage())

    def _judge(self, exchange: "Exchange", request: "Message") -> "Judging[Plan | None]":
        """What the faults make of a request; None: nothing."""
        route, call = exchange.route, exchange.call
        incoming = IncomingRequest(
            route.name,
            route.version,
            call.client_id,
            call.node.id,
            exchange.connection_id,
            exchange.correlation_id,
            request,
            str(exchange.principal),
        )
        plan = Plan(incoming)
        for fault in (yield from self._due(route, call, incoming)):
            if fault.spec.decides and plan.deciding is not None:
                continue
            fault.hits += 1
            plan.add(fault)
            hit = FaultHit(
                fault.fault_id,
                str(fault.spec),
                incoming.node_id,
                incoming.connection_id,
                incoming.client_id,
                incoming.api,
                incoming.version,
                incoming.correlation_id,
            )
            self._engine.journal.event(hit, self._engine.now)
        return plan if plan.hits else None

    def _due(self, route: "Route", call: "Call", incoming: IncomingRequest) -> "Judging[list[Fault]]":
        """The faults that mean the request, and whose turn it is."""
        due = []
        for fault in [each for each in self._faults if each.concerns(route.api_key, route.version)]:
            if not fault.means_client(incoming):
                continue
            if not (yield from in_turns(_is_meant(fault, call, incoming))):
                continue
            try:
                is_wanted = fault.is_wanted(incoming)
            except Exception as error:  # of the test's function
                self._engine.failed(error)
                continue
            if is_wanted and fault.is_due():
                due.append(fault)
        return due

    def _check_principal(self, spec: FaultSpec) -> None:
        """Where nobody authenticates, a fault for another than ANONYMOUS would never be hit."""
        principal = spec.fields.get("principal")
        if principal is None or is_like(str(ANONYMOUS), principal):
            return
        if all(listener.protocol in ("", PLAINTEXT) for listener in self._engine.listeners):
            text = f"principal={principal!r} matches no client: without authentication every client is {ANONYMOUS}"
            raise InvalidArgument("principal", principal, text)

    def _api_keys(self, spec: FaultSpec) -> tuple[int, ...]:
        """The keys of the APIs that a fault means. Raises InvalidArgument for a name or version that is not served."""
        served = {
            key: versions
            for dispatcher in self._engine.dispatchers
            for key, versions in sorted(dispatcher.listener.versions.items())
        }
        by_name = {APIS[key].name: key for key in served}
        keys = [by_name[name] for name in api_names("api", spec.fields.get("api") or "*", by_name, here=" served here")]
        version = spec.fields.get("version")
        if version is not None:
            first, last = version_range(version)
            ranges = {key: served[key] for key in keys}
            keys = [key for key, (lowest, highest) in ranges.items() if first <= highest and lowest <= last]
            if not keys:
                have = ", ".join(f"{APIS[key].name} v{low} to v{high}" for key, (low, high) in ranges.items())
                raise InvalidArgument(
                    "version",
                    spec.fields.get("version"),
                    f"version {spec.fields.get('version')} is not supported: this broker has {have}",
                )
        return tuple(keys)


def _is_meant(fault: Fault, call: "Call", incoming: IncomingRequest) -> "Generator[None, None, bool]":
    """Whether a request names all that a fault wants to be named. In steps: it may name millions of partitions."""
    pace = call.pace(NAMES_PER_STEP)
    if fault.chooses_by_transaction:
        ids = transactional_ids_of(incoming.message)
        if not (yield from has_any(ids, fault.chooses_transaction, pace)):
            return False
    if not fault.chooses_by_name:
        return True
    topics, named = call.cluster.topics, (yield from named_with_session(call, incoming.message, pace))
    names = names_of(incoming.message, topics) if named is None else names_of_session(named, topics)
    return (yield from has_any(names, fault.chooses, pace))


def _check_nameable(spec: FaultSpec, keys: tuple[int, ...]) -> None:
    """A fault that matches by something that no request it means can name would never be hit."""
    for field in ("group", "topic", "partition", "transactional_id"):
        value = spec.fields.get(field)
        if value is not None and not any(getattr(nameable(APIS[key].request), field) for key in keys):
            able = [api.name for _, api in sorted(APIS.items()) if getattr(nameable(api.request), field)]
            text = f"requests of {spec.fields.get('api')} have no {field}; requests of {', '.join(able)} do"
            raise InvalidArgument(field, value, text)


def _check_throttle(spec: FaultSpec, keys: tuple[int, ...]) -> None:
    throttle_ms = spec.fields.get("throttle_ms")
    if throttle_ms is not None and not any(has_throttle_time(APIS[key].response) for key in keys):
        raise InvalidArgument(
            "throttle_ms", throttle_ms, f"responses of {spec.fields.get('api')} have no throttle time"
        )


def has_throttle_time(response: "type[Declaration]") -> bool:
    """Whether an answer tells the client for how long it is throttled, in some version."""
    return any(field.name == "throttle_time_ms" for field in response.fields)
