"""A group's coordinator as a test sees it: where it is, moving it, making it load."""

from typing import TYPE_CHECKING

from fakebroker.core.topics import CONSUMER_OFFSETS
from fakebroker.handles.handle import Handle
from fakebroker.instant import Instant

if TYPE_CHECKING:
    from fakebroker.core.cluster import Cluster
    from fakebroker.core.topics import Partition
    from fakebroker.handles.access import EngineAccess


LONGEST_LOAD_S = 10**9


class CoordinatorHandle(Handle):
    """The coordinator of a group: the node that leads the group's partition of `__consumer_offsets`."""

    def __init__(self, access: "EngineAccess", group_id: str) -> None:
        super().__init__(access)
        self.group_id = group_id

    @property
    def node_id(self) -> int:
        """The coordinator's node, -1 when there is none."""
        return self._with_cluster(lambda cluster, _now: self._partition(cluster).leader)

    @property
    def partition(self) -> int:
        """The partition of `__consumer_offsets` that holds the group."""
        return self._with_cluster(lambda cluster, _now: self._partition(cluster).index)

    def move(self, to: int) -> None:
        """Another node leads the partition: parked requests get NOT_COORDINATOR, and the new leader loads the log.

        To the node that has it already: it reads its log again. Raises ValueError for a node that does not exist or is
        stopped.
        """
        self._with_cluster(lambda cluster, now: self._move(cluster, now, to))

    def load(self, for_s: float = 0.0) -> None:
        """The coordinator loads its log again, for `for_s` seconds: COORDINATOR_LOAD_IN_PROGRESS meanwhile.

        The seconds are of monotonic time, which session timers use, too. Raises ValueError without a coordinator, and
        for a time that is negative or longer than LONGEST_LOAD_S.
        """
        if not 0 <= for_s <= LONGEST_LOAD_S:
            raise ValueError(f"a load cannot take {for_s} s, only up to {LONGEST_LOAD_S}")
        self._with_cluster(lambda cluster, now: self._load(cluster, now, round(for_s * 1000)))

    def _move(self, cluster: "Cluster", now: Instant, to: int) -> None:
        if to not in cluster.nodes:
            raise ValueError(f"there is no node {to}, only {', '.join(map(str, cluster.nodes))}")
        if cluster.nodes[to].is_fenced:
            raise ValueError(f"node {to} is stopped")
        partition = self._partition(cluster)
        if partition.leader == to:
            self._load(cluster, now, 0)
        else:
            partition.lead(to, now)

    def _load(self, cluster: "Cluster", now: Instant, for_ms: int) -> None:
        partition = self._partition(cluster)
        if partition.leader not in cluster.nodes:
            raise ValueError(f"{CONSUMER_OFFSETS}-{partition.index} has no leader that could load it")
        cluster.nodes[partition.leader].coordinator.load(partition.index, now, for_ms)

    def _partition(self, cluster: "Cluster") -> "Partition":
        return cluster.group_partition(self.group_id)
