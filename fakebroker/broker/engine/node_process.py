"""What a test does to one broker: its process stops, starts or freezes, and its network fails.

Each function does both sides in the order that clients would see: what the cluster makes of it
(`broker/core/broker_life.py`), and what becomes of connections and listeners (`EngineServer`). They belong to the
engine's thread; the caller flushes.
"""

from fakebroker.broker.core import broker_life
from fakebroker.broker.engine.engine import Engine
from fakebroker.broker.engine.node_links import FROZEN, ISOLATED, REFUSES_CONNECTS
from fakebroker.broker.engine.server import EngineServer


def stop(engine: Engine, server: EngineServer, node_id: int) -> None:
    """Stop it cleanly: the coordinators answer before the connections are closed."""
    server.links.end(node_id, FROZEN)
    engine.cluster.stop_node(node_id, engine.now)
    engine.drain()
    server.close_node(node_id)


def kill(engine: Engine, server: EngineServer, node_id: int) -> None:
    """End it. The connections end first: nothing that the coordinator lets go of is answered. What they had acquired of
    share groups is not released by that: the process is dead.
    """
    if engine.cluster.nodes[node_id].has_process:
        engine.cluster.nodes[node_id].forget_share_partitions()
        server.abort_node(node_id)
        server.links.end(node_id, FROZEN)
        engine.cluster.kill_node(node_id, engine.now)
        engine.drain()


def start(engine: Engine, server: EngineServer, node_id: int) -> None:
    """Start it if it has no process. Raises OSError for ports that cannot be had; it is stopped then.

    With a disk that it cannot start on it ends again (LR-6).
    """
    node = engine.cluster.nodes[node_id]
    had_process = node.has_process
    faults = server.links.faults_of(node_id)
    if REFUSES_CONNECTS not in faults:
        server.open_node(node_id)
    engine.cluster.start_node(node_id, engine.now)
    if ISOLATED in faults:
        broker_life.cut_off(engine.cluster, node, engine.now)
    engine.drain()
    if not had_process and not node.log_directories.can_start:
        kill(engine, server, node_id)


def freeze(engine: Engine, server: EngineServer, node_id: int) -> None:
    """Let a running process stand still; what it has said before is heard."""
    if engine.cluster.nodes[node_id].is_running:
        server.flush()
        engine.cluster.freeze_node(node_id, engine.now)
        server.links.begin(node_id, FROZEN)
        engine.drain()


def thaw(engine: Engine, server: EngineServer, node_id: int) -> None:
    """Let it go on: what waits in the sockets comes before the timers."""
    server.links.end(node_id, FROZEN)
    engine.cluster.thaw_node(node_id, engine.now)
    engine.drain()


def disturb(engine: Engine, server: EngineServer, node_id: int, fault: str) -> None:
    """Let a fault of its network begin; what was said before is heard."""
    node = engine.cluster.nodes[node_id]
    if fault == ISOLATED and node.has_process and not node.is_cut_off:
        broker_life.cut_off(engine.cluster, node, engine.now)
    server.flush()
    server.links.begin(node_id, fault)
    engine.drain()


def heal(engine: Engine, server: EngineServer, node_id: int, fault: str) -> None:
    """Let a fault of its network end. Raises OSError if a port cannot be had again."""
    node = engine.cluster.nodes[node_id]
    server.links.end(node_id, fault, has_process=node.has_process)
    if fault == ISOLATED and node.is_cut_off:
        broker_life.rejoin(engine.cluster, node, engine.now)
    engine.drain()
