"""Servers whose engine keeps its state in a data directory: what a turn has changed is written before its answers.

They are classes of their own, so that a broker without a data directory has no cost of one.
"""

import logging
from collections.abc import Callable
from time import monotonic

from fakebroker.broker.engine import node_disks, node_process
from fakebroker.broker.engine.engine import Engine
from fakebroker.broker.engine.server import EngineServer
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.listeners import Listener
from fakebroker.serve.net.ports import Ports
from fakebroker.serve.net.server import Server
from fakebroker.serve.sim.network import SimNetwork
from fakebroker.serve.storage.broker_storage import BrokerStorage

log = logging.getLogger("fakebroker")


class StoringServer(Server):
    """Writes before it sends."""

    def __init__(self, ports: Ports, storage: BrokerStorage, after_flush: Callable[[], None]) -> None:
        super().__init__(ports, after_flush)
        self._storage = storage

    def prepare(self, engine: Engine) -> None:
        """As Server. By the stopwatch a step or turn also ends when it has caused as much writing."""
        super().prepare(engine)
        engine.cluster.timers.passes.stopwatch = lambda: monotonic() + self._storage.ahead_s

    def flush(self) -> None:
        """Write, then send."""
        write(self._storage, self.engine, self)
        super().flush()


class StoringNetwork(SimNetwork):
    """The same in virtual time."""

    def __init__(self, listeners: list[Listener], start: Instant, storage: BrokerStorage) -> None:
        super().__init__(listeners, start)
        self._storage = storage

    def prepare(self, engine: Engine) -> None:
        """As SimNetwork. The stopwatch shows the writing alone."""
        super().prepare(engine)
        engine.cluster.timers.passes.stopwatch = lambda: self._storage.ahead_s

    def _flush_engine(self) -> None:
        write(self._storage, self.engine, self)
        super()._flush_engine()


def write(storage: BrokerStorage, engine: Engine, server: EngineServer) -> None:
    """Write what the engine has changed.

    A broker whose data directory fails is killed before anything is sent, as a Kafka with one log directory halts. With
    several (`log.dirs`) the one with the replica goes offline, and the broker's connections end: nothing that was not
    written is acknowledged.
    """
    while True:
        failed = storage.write(engine.now)
        lost = storage.take_lost()
        for node_id, partition, end_offset, reason in lost:
            log.error("node %d cannot write to %s-%d: %s", node_id, partition.topic.name, partition.index, reason)
            node_disks.lose(engine, server, engine.cluster.nodes[node_id], partition, end_offset)
        for node_id in failed:
            node_process.kill(engine, server, node_id)
        if not (failed or lost):
            return
        if not any(node.has_process for node in engine.cluster.nodes.values()):
            reason = storage.failure_of(failed[0]) if failed else lost[-1].reason
            storage.on_failure(f"its data directory has failed: {reason}")
