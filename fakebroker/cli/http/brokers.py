"""Isolated brokers in one process, each with its own ports and state: for suites that run side by side."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator
from inspect import Parameter
from time import monotonic
from typing import Any

from fakebroker.cli.http.leftovers import Leftovers
from fakebroker.cli.http.problems import Problem, shown_value
from fakebroker.protocol.arguments.types import TimeoutS
from fakebroker.protocol.errors import InvalidArgument, UnknownThing
from fakebroker.serve.listener_options import bootstrap
from fakebroker.testing.broker import AsyncFakeBroker

MAX_BROKERS = 256
MAX_NODES = 64
MAX_NODES_TOGETHER = 1_024  # of all brokers; each node has a port
IDLE_TTL_S = 900.0
LOOK_EVERY_S = 1.0

log = logging.getLogger("fakebroker")


class Isolated:
    """A broker made through the HTTP API. It is idle while no request is under way and no client is connected."""

    def __init__(self, broker_id: str, broker: AsyncFakeBroker, idle_ttl_s: float) -> None:
        self.broker_id = broker_id
        self.broker = broker
        self.idle_ttl_s = idle_ttl_s
        self._used_s = monotonic()
        self._requests = 0  # under way

    def touch(self) -> None:
        """Note that the broker is in use."""
        self._used_s = monotonic()

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """A request for it is under way, perhaps a long wait or a stream."""
        self._requests += 1
        try:
            yield
        finally:
            self._requests -= 1
            self.touch()

    @property
    def is_forgotten(self) -> bool:
        """Whether it was idle for longer than it may."""
        if self._requests or self.broker._engine.connections:
            self.touch()
            return False
        return monotonic() - self._used_s > self.idle_ttl_s

    def shown(self) -> dict[str, Any]:
        """Its state as the HTTP API reports it."""
        nodes = sorted(self.broker._engine.cluster.nodes)
        return {
            "broker_id": self.broker_id,
            "bootstrap": bootstrap(self.broker.listeners, is_advertised=True),
            "nodes": nodes,
            "idle_ttl_s": self.idle_ttl_s,
        }


class Brokers:
    """The isolated brokers by id. Those that were forgotten are stopped and removed."""

    def __init__(self, served: AsyncFakeBroker | None = None) -> None:
        """`served` is the broker beside them, whose nodes count too. If it reads no files and addresses that its
        clients name, they do not, either.
        """
        self._served = served
        self.leftovers = Leftovers()
        self._starting: set[AsyncFakeBroker] = set()
        self._brokers: dict[str, Isolated] = {}
        self._count = 0
        self._watch: asyncio.Task[None] | None = None

    def __iter__(self) -> Iterator[Isolated]:
        return iter(tuple(self._brokers.values()))

    async def add(self, *, idle_ttl_s: float = IDLE_TTL_S, **options: Any) -> Isolated:
        """Make and start one; `options` are those of AsyncFakeBroker.

        Raises Problem when there are too many and for a port that is taken, and what AsyncFakeBroker raises.
        """
        if not 1 <= (nodes := options.get("nodes", 1)) <= MAX_NODES:
            raise InvalidArgument("nodes", nodes, f"a broker has 1 to {MAX_NODES} nodes, not {nodes}")
        return await self.start(lambda: AsyncFakeBroker(**options), nodes, idle_ttl_s)

    async def start(self, make: Callable[[], AsyncFakeBroker], nodes: int, idle_ttl_s: float) -> Isolated:
        """Start the broker with so many nodes that `make` makes. Raises as `add`."""
        if len(self._brokers) + len(self._starting) >= MAX_BROKERS:
            raise Problem(409, "refused", f"there are already {MAX_BROKERS} brokers; delete unused ones")
        self.check_room(nodes)
        broker = make()
        if self._served is not None:
            broker._host_reads.limit_as(self._served._host_reads)
        self._starting.add(broker)
        try:
            await broker.start()
        except OSError as error:
            listen = [f"{listener.host}:{listener.port}" for listener in broker.listeners]
            taken = Problem(409, "port-taken", error.strerror or str(error), field="listen", value=shown_value(listen))
            raise taken from error
        finally:
            self._starting.discard(broker)
            if not broker.is_running:
                self.leftovers.add()
        self._count += 1
        isolated = Isolated(f"b{self._count}", broker, idle_ttl_s)
        self._brokers[isolated.broker_id] = isolated
        if self._watch is None:
            self._watch = asyncio.get_running_loop().create_task(self._watch_idle())
        return isolated

    def check_room(self, nodes: int) -> None:
        """Raises Problem if so many more nodes are too many for all brokers together."""
        served = () if self._served is None else (self._served,)
        brokers = (*served, *self._starting, *(each.broker for each in self))
        there = sum(len(broker._engine.cluster.nodes) for broker in brokers)
        if there + nodes > MAX_NODES_TOGETHER:
            detail = f"all brokers together may have {MAX_NODES_TOGETHER:,} nodes; there are {there:,}, and {nodes}"
            raise Problem(409, "refused", f"{detail} more are too many; delete unused brokers")

    def find(self, broker_id: str) -> Isolated:
        """The broker of that id. Raises UnknownThing."""
        isolated = self._brokers.get(broker_id)
        if isolated is None:
            there = ", ".join(self._brokers) or "none"
            detail = f"there is no broker {shown_value(broker_id)!r}; there are {there}"
            raise UnknownThing("broker_id", broker_id, detail)
        isolated.touch()
        return isolated

    @contextlib.contextmanager
    def in_use(self, broker_id: str | None) -> Iterator[None]:
        """A request for the broker of that id, if there is one, is under way."""
        isolated = None if broker_id is None else self._brokers.get(broker_id)
        if isolated is None:
            yield
            return
        try:
            with isolated.in_use():
                yield
        finally:
            if isolated.broker_id not in self._brokers:  # removed meanwhile; perhaps only this referred to it
                self.leftovers.add()

    async def remove(self, broker_id: str) -> None:
        """Stop it and forget it. Raises UnknownThing, and what the broker's own code raised: a bug of ours."""
        isolated = self.find(broker_id)
        del self._brokers[broker_id]
        try:
            await isolated.broker.stop()
        finally:
            self.leftovers.add()

    async def close(self) -> None:
        """Stop all of them."""
        if self._watch is not None:
            self._watch.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watch
            self._watch = None
        for isolated in self:
            await self._stop(isolated)
        self.leftovers.close()

    async def _watch_idle(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            await self._remove_forgotten()

    async def _remove_forgotten(self) -> None:
        for isolated in self:
            if isolated.is_forgotten:
                log.info("broker %s was idle for %g s and was removed", isolated.broker_id, isolated.idle_ttl_s)
                await self._stop(isolated)

    async def _stop(self, isolated: Isolated) -> None:
        self._brokers.pop(isolated.broker_id, None)
        try:
            await isolated.broker.stop()
        except Exception as error:
            log.error("broker %s had an internal error: %r", isolated.broker_id, error)
        self.leftovers.add()


def idle_ttl() -> Parameter:
    """The argument that says after which time a broker counts as forgotten."""
    return Parameter("idle_ttl_s", Parameter.KEYWORD_ONLY, default=IDLE_TTL_S, annotation=TimeoutS)
