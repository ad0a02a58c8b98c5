"""What a test does to the disks of one broker, and what becomes of the broker (LR-4 to LR-7).

Each function belongs to the engine's thread; the caller flushes.
"""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from fakebroker.broker.core.disk_faults import DiskFaults
from fakebroker.broker.engine import node_process
from fakebroker.broker.engine.engine import Engine
from fakebroker.broker.engine.server import EngineServer
from fakebroker.broker.engine.slow_disks import SlowDisks
from fakebroker.broker.engine.stages import StageKind
from fakebroker.broker.engine.work import Task

if TYPE_CHECKING:
    from fakebroker.broker.core.log_directories import LogDirectory
    from fakebroker.broker.core.node import Node
    from fakebroker.broker.core.topics import Partition
    from fakebroker.protocol.instant import Instant

log = logging.getLogger("fakebroker")


def change(
    engine: Engine,
    server: EngineServer,
    node: "Node",
    directories: "Sequence[LogDirectory]",
    how: "Callable[[LogDirectory], None]",
) -> None:
    """Let something be wrong, or right again, with the disks of some of a broker's log directories."""
    for directory in directories:
        how(directory)
    faults = faults_of(engine, server)
    faults.changed(node, engine.now)
    engine.put_stage(StageKind.DISKS, SlowDisks(engine, faults) if faults.is_any_slow else None)
    for directory in directories:
        if directory.is_unusable:
            take_offline(engine, server, node, directory)
    engine.drain()


def faults_of(engine: Engine, server: EngineServer) -> DiskFaults:
    """The faults of disks of the engine's cluster."""
    cluster = engine.cluster
    if cluster.disk_faults is None:

        def fail(node: "Node", directory: "LogDirectory") -> None:
            engine.begin(Task(engine, partial(_failed, engine, server, node, directory)))

        cluster.disk_faults = DiskFaults(cluster, fail)
    return cluster.disk_faults


def _failed(engine: Engine, server: EngineServer, node: "Node", directory: "LogDirectory", _now: "Instant") -> None:
    take_offline(engine, server, node, directory)


def take_offline(engine: Engine, server: EngineServer, node: "Node", directory: "LogDirectory") -> None:
    """A log directory failed. The broker goes on with the others; without any it ends, as Kafka does."""
    if not node.has_process or not directory.is_online:
        return
    faults = faults_of(engine, server)
    if len(node.log_directories.online) > 1:
        path = directory.path
        log.warning("node %d: its log directory %s has failed, and is offline until it starts again", node.id, path)
        faults.take_offline(node, directory, engine.now)
        engine.drain()
    else:
        log.warning("node %d stops: %s, its last log directory, has failed", node.id, directory.path)
        faults.forget_refused(node, directory, engine.now)
        node_process.kill(engine, server, node.id)


def lose(engine: Engine, server: EngineServer, node: "Node", partition: "Partition", end_offset: int) -> None:
    """A replica could not be written to after `end_offset`: its log directory has failed.

    The broker's connections end, so that nothing of it is acknowledged; records that the leader did not write are gone.
    """
    server.drop_clients_of(node.id, "its log directory has failed")
    if partition.leader == node.id:
        faults_of(engine, server).refused[partition.log] = end_offset
    take_offline(engine, server, node, node.directory_of(partition))
