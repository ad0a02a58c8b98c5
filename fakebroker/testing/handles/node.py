"""One broker of the cluster as a test sees it: stopping, killing, freezing it, faults of its network and its disks."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.engine import node_process
from fakebroker.broker.engine.node_links import FROZEN, HALF_OPEN, ISOLATED, REFUSES_CONNECTS, UNREACHABLE
from fakebroker.protocol.arguments.types import Count, Name, Seconds
from fakebroker.protocol.errors import InvalidArgument, UnknownThing
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.listeners import Address
from fakebroker.testing.handles.disks import DiskFault, LogDirectoryView, change_disk, views_of
from fakebroker.testing.handles.handle import EndsWithBlock, Handle

if TYPE_CHECKING:
    from fakebroker.broker.core.log_directories import LogDirectory
    from fakebroker.broker.core.node import Node
    from fakebroker.testing.handles.access import EngineAccess

NodeStateName = Literal["running", "stopped", "killed", "frozen"]


class NetworkFault(EndsWithBlock):
    """A network fault of a node, until `heal` or the end of a `with` block."""

    def __init__(self, node: "NodeHandle", kind: str) -> None:
        self.kind = kind  # as in `NodeHandle.network`
        self._node = node

    def __repr__(self) -> str:
        return f"<{self._node!r} {self.kind}>"

    def heal(self) -> None:
        """End it; does nothing if it has ended. See `NodeHandle.heal`."""
        self._node._heal(self.kind)

    def _end_block(self) -> None:
        self.heal()


class NodeHandle(Handle):
    """A broker of the cluster. A stopped node stays stopped across `stop` and `start` of the whole, until `reset`."""

    def __init__(self, access: "EngineAccess", node_id: int) -> None:
        super().__init__(access)
        self.node_id = node_id
        self._with_cluster(lambda cluster, _now: self._node(cluster))

    def __repr__(self) -> str:
        return f"<node {self.node_id}>"

    @property
    def state(self) -> NodeStateName:
        """The state of its process: "running", "stopped", "killed" or "frozen"."""
        return self._with_cluster(lambda cluster, _now: self._node(cluster).state.value)

    @property
    def is_alive(self) -> bool:
        """Whether its process is running."""
        return self._with_cluster(lambda cluster, _now: self._node(cluster).is_running)

    @property
    def is_fenced(self) -> bool:
        """Whether the cluster has fenced it: no response lists it, and it leads no partition (CLU-21)."""
        return self._with_cluster(lambda cluster, _now: self._node(cluster).is_fenced)

    @property
    def address(self) -> Address:
        """Host and port of its first listener."""
        listener = next(each for each in self._access._engine.listeners if each.node_id == self.node_id)
        return Address(listener.host, listener.port)

    @property
    def network(self) -> list[str]:
        """Its network faults: "unreachable", "isolated", "refuses connects", "half-open"."""

        def faults(_cluster: Cluster, _now: Instant) -> list[str]:
            return [fault for fault in self._access._server.links.faults_of(self.node_id) if fault != FROZEN]

        return self._with_cluster(faults)

    @property
    def rack(self) -> str | None:
        """Its rack (`broker.rack`), None without one. Kafka cannot change it while the broker runs; a test can."""
        return self._with_cluster(lambda cluster, _now: self._node(cluster).rack)

    @rack.setter
    def rack(self, rack: Name) -> None:
        self._with_cluster(lambda cluster, _now: self._node(cluster).settings.set_own("broker.rack", rack))

    # -- its process -------------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Shut it down cleanly; does nothing if it is stopped or killed.

        The next in-sync replica leads each partition that it led; without one the partition has no leader. Other nodes
        load its groups; requests parked at their coordinator are answered with NOT_COORDINATOR. Then its connections
        are closed, and its ports accept no clients. The last live node may be stopped, too; then no client is served.
        """
        self._do(node_process.stop)

    def kill(self) -> None:
        """End it at once, as `kill -9` does; does nothing if it is stopped or killed.

        Its connections end without answers. Other nodes list it until `broker.session.timeout.ms` of monotonic time
        have passed; then it is fenced, and others lead its partitions and load its groups (CLU-33).
        """
        self._do(node_process.kill)

    def start(self) -> None:
        """Start it on the same ports, with the same logs; does nothing if its process exists.

        It is in sync at once, and takes over leaderless partitions for which it is eligible; other leaders stay until
        an ElectLeaders request. Raises OSError if another process has taken a port; then it stays stopped.
        """
        self._do(node_process.start)

    def restart(self) -> None:
        """Stop it if it runs, then start it. Raises as `start`."""
        self.stop()
        self.start()

    def freeze(self) -> None:
        """Freeze its process, as SIGSTOP does; does nothing unless it is running.

        It accepts bytes but answers nothing, and its timers do not run. After `broker.session.timeout.ms` it is fenced.
        """
        self._do(node_process.freeze)

    def thaw(self) -> None:
        """Resume a frozen process; does nothing unless it is frozen.

        It answers the requests in its sockets from its old state, then its overdue timers fire, and 150 ms later it
        learns of the new leaders (CLU-40, CLU-41).
        """
        self._do(node_process.thaw)

    def remove(self) -> None:
        """Take a stopped or killed node out of the cluster, as Kafka's UnregisterBroker does.

        Raises InvalidArgument for a node that runs, the last one, and one that has replicas: reassign them first.
        """
        self._with_cluster(lambda cluster, _now: self._remove(cluster))

    # -- its network -------------------------------------------------------------------------------------------------

    def unreachable(self) -> NetworkFault:
        """Cut clients off: their requests and new connections wait. Other nodes still reach it.

        Returns the fault, to be healed, also by the end of a `with` block. Then what waited arrives.
        """
        return self._disturb(UNREACHABLE)

    def isolate(self) -> NetworkFault:
        """Cut off clients and other nodes: it is fenced after `broker.session.timeout.ms`, and its leaderships move.

        It does not know; after healing it answers waiting requests from its old state, until it learns of the change
        (CLU-40).
        """
        return self._disturb(ISOLATED)

    def refuse_connects(self) -> NetworkFault:
        """Refuse new connections; existing ones stay."""
        return self._disturb(REFUSES_CONNECTS)

    def half_open(self) -> NetworkFault:
        """Silence the existing connections: bytes vanish in both directions without an error. New ones are served.

        A second call includes those opened since. Healing resets them.
        """
        return self._disturb(HALF_OPEN)

    def heal(self) -> None:
        """End all its network faults. Raises OSError if another process has taken a port."""
        for kind in self.network:
            self._heal(kind)

    # -- its disks ---------------------------------------------------------------------------------------------------

    @property
    def log_directories(self) -> list[LogDirectoryView]:
        """Its log directories (`log.dirs`), with the state of their disks and the partitions in each."""
        return self._with_cluster(lambda cluster, _now: views_of(cluster, self._node(cluster)))

    def fill_disk(self, after_bytes: Count = 0, directory: str | None = None) -> DiskFault:
        """Let the disk of a log directory, or of all, be full after so many more bytes.

        A write that does not fit is answered with KAFKA_STORAGE_ERROR, and the directory goes offline; without any
        write it does so within five seconds (`replica.high.watermark.checkpoint.interval.ms`). Other replicas lead its
        partitions; without one they have no leader. A node without another directory is killed. It is back when
        the disk is healed and the node restarted (LR-4 to LR-6).

        Returns the fault, to be healed, also by the end of a `with` block. Raises UnknownThing for a directory that the
        node does not have.
        """

        def fill(disk: "LogDirectory") -> None:
            disk.free_bytes = after_bytes

        return self._change_disk(directory, fill)

    def fail_disk(self, directory: str | None = None) -> DiskFault:
        """Let the disk of a log directory, or of all, fail every access (EIO): the directory goes offline at once.

        Everything else, and the end of it, is as for `fill_disk`.
        """

        def fail(disk: "LogDirectory") -> None:
            disk.is_unusable = True

        return self._change_disk(directory, fail)

    def slow_disk(self, flush_s: Seconds, directory: str | None = None) -> DiskFault:
        """Let the disk of a log directory, or of all, take so long to flush a file (fsync), in the broker's time.

        Writes themselves are as fast as ever. An append flushes a log every `flush.messages` records (or the broker's
        `log.flush.interval.messages`), never unless set; the controller flushes each change of topics and configs. The
        answer to the request waits for it, and the next flush of the log for this one (LR-7).

        Returns and raises as `fill_disk`.
        """

        def slow(disk: "LogDirectory") -> None:
            disk.flush_ms = round(flush_s * 1000)

        return self._change_disk(directory, slow)

    def heal_disk(self, directory: str | None = None) -> None:
        """Repair the disk of a log directory, or of all. A directory that is offline stays so until `restart`.

        Raises as `fill_disk`.
        """
        self._change_disk(directory, lambda disk: disk.heal())

    def _change_disk(self, directory: str | None, how: "Callable[[LogDirectory], None]") -> DiskFault:
        self._with_cluster(lambda cluster, _now: change_disk(self._access, self._node(cluster), directory, how))
        return DiskFault(self, directory)

    # -- on the engine's thread --------------------------------------------------------------------------------------

    def _do(self, change: Callable[..., None], *more: str) -> None:
        """Make a change of `broker/engine/node_process.py`. Raises UnknownThing for a node that does not exist."""

        def on_node(cluster: Cluster, _now: Instant) -> None:
            self._node(cluster)
            change(self._access._engine, self._access._server, self.node_id, *more)

        self._with_cluster(on_node)

    def _disturb(self, kind: str) -> NetworkFault:
        self._do(node_process.disturb, kind)
        return NetworkFault(self, kind)

    def _heal(self, kind: str) -> None:
        self._do(node_process.heal, kind)

    def _remove(self, cluster: Cluster) -> None:
        node = self._node(cluster)
        where = cluster.replicas_on(self.node_id)
        why = None
        if len(cluster.nodes) == 1:
            why = "it is the only node"
        elif node.has_process:
            why = f"it is {node.state}: stop it first"
        elif where:
            names = ", ".join(f"{partition.topic.name}-{partition.index}" for partition in where[:3])
            why = f"it has replicas of {names}{' and others' if len(where) > 3 else ''}: reassign them first"
        if why is not None:
            raise InvalidArgument("node_id", self.node_id, f"node {self.node_id} cannot be removed, {why}")
        cluster.remove_node(self.node_id)

    def _node(self, cluster: Cluster) -> "Node":
        """Raises UnknownThing for a node that does not exist."""
        return known_node(cluster, "node_id", self.node_id)


def known_node(cluster: Cluster, field: str, node_id: int) -> "Node":
    """The node that the argument `field` names. Raises UnknownThing for one that does not exist."""
    node = cluster.nodes.get(node_id)
    if node is None:
        raise UnknownThing(field, node_id, f"there is no node {node_id!r}, only {', '.join(map(str, cluster.nodes))}")
    return node
