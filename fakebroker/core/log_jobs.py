"""What a broker does to its logs by the clock: retention, compaction, forgetting old producers."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fakebroker.core.cluster import Cluster
    from fakebroker.core.log import PartitionLog


class LogJobs:
    """The jobs of one cluster. They sleep until a log has something that can fall due."""

    def __init__(self, cluster: "Cluster") -> None:
        self._cluster = cluster

    def segment_began(self, log: "PartitionLog", wall_ms: int) -> None:
        """`log` wrote into an empty segment: one more that may fall due, and the ones before it are closed."""
