"""One broker of the cluster as a test sees it: stopping it and starting it again."""

from typing import TYPE_CHECKING

from fakebroker.handles.handle import Handle
from fakebroker.instant import Instant

if TYPE_CHECKING:
    from fakebroker.core.cluster import Cluster
    from fakebroker.core.node import Node
    from fakebroker.handles.access import EngineAccess


class NodeHandle(Handle):
    """One broker of the cluster. One that is stopped stays so over `stop` and `start` of the whole, not `reset`."""

    def __init__(self, access: "EngineAccess", node_id: int) -> None:
        super().__init__(access)
        self.node_id = node_id
        self._with_cluster(lambda cluster, _now: self._node(cluster))

    def __repr__(self) -> str:
        return f"<node {self.node_id}>"

    @property
    def is_alive(self) -> bool:
        """Whether it was not stopped by `stop`."""
        return self._with_cluster(lambda cluster, _now: not self._node(cluster).is_fenced)

    @property
    def rack(self) -> str | None:
        """Its rack (`broker.rack`), None without one. Kafka cannot change it while the broker runs; a test can."""
        return self._with_cluster(lambda cluster, _now: self._node(cluster).rack)

    @rack.setter
    def rack(self, rack: str) -> None:
        self._with_cluster(lambda cluster, _now: self._node(cluster).settings.set_own("broker.rack", rack))

    def stop(self) -> None:
        """Stop it, cleanly as Kafka does; does nothing if it is stopped.

        The next in-sync replica leads each partition that it led; without one the partition has no leader. Other nodes
        load its groups; requests parked at their coordinator are answered with NOT_COORDINATOR. Then its connections
        are closed, and its ports accept no clients. The last live node may be stopped, too: then no client is served.
        """
        self._with_cluster(self._stop)

    def start(self) -> None:
        """Start it on the same ports, with the same logs; does nothing if it is alive.

        It is in sync at once, and leads the partitions that have no leader and that it may lead; other leaders stay
        until an ElectLeaders request. Raises OSError if a port was taken by another process, and is stopped then.
        """
        self._with_cluster(self._start)

    def _stop(self, cluster: "Cluster", now: Instant) -> None:
        """The coordinators answer before the connections are closed."""
        cluster.stop_node(self.node_id, now)
        self._access.engine.drain()
        self._access.server.close_node(self.node_id)

    def _start(self, cluster: "Cluster", now: Instant) -> None:
        """Ports that cannot be had leave it stopped."""
        self._access.server.open_node(self.node_id)
        cluster.start_node(self.node_id, now)
        self._access.engine.drain()

    def _node(self, cluster: "Cluster") -> "Node":
        """Raises ValueError for a node that does not exist."""
        node = cluster.nodes.get(self.node_id)
        if node is None:
            raise ValueError(f"there is no node {self.node_id}, only {', '.join(map(str, cluster.nodes))}")
        return node
