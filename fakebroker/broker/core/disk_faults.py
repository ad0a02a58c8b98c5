"""Faults of disks that a test begins: full, unusable or slow ones. A cluster has none by default.

A disk that cannot take a write takes its log directory offline, which Kafka calls a log directory failure (LR-4). The
write itself is refused at once; the directory goes when the request is answered, as Kafka's own thread for it does.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from fakebroker.broker.core import broker_life
from fakebroker.broker.core.deadlines import Deadline
from fakebroker.broker.core.slow_flushes import SlowFlushes
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.core.cluster import Cluster
    from fakebroker.broker.core.log_directories import LogDirectory
    from fakebroker.broker.core.logs.log import PartitionLog
    from fakebroker.broker.core.node import Node
    from fakebroker.broker.core.topics import Partition

_CHECKPOINT_INTERVAL = "replica.high.watermark.checkpoint.interval.ms"


class LogGuard:
    """Checks whether disks can take the writes to one log (`logs.host.DiskGuard`)."""

    __slots__ = ("_faults", "_partition")

    def __init__(self, faults: "DiskFaults", partition: "Partition") -> None:
        self._faults = faults
        self._partition = partition

    def takes(self, size_bytes: int) -> bool:
        """Write so many bytes to the disks of leader and followers. False if the leader's cannot take them."""
        partition, faults = self._partition, self._faults
        if not faults.write(partition, partition.leader, size_bytes):
            return False
        for node_id in partition.isr:
            if node_id != partition.leader:
                faults.write(partition, node_id, size_bytes)
        return True

    def refuse(self, log: "PartitionLog") -> None:
        """What a coordinator appends next is not on the leader's disk: nothing of it is replicated or answered."""
        self._faults.refused.setdefault(log, log.log_end_offset)
        log.high_watermark_limit = log.high_watermark

    def has_refused(self, log: "PartitionLog") -> bool:
        """Whether the log ends with records that are on no disk."""
        return log in self._faults.refused


class DiskFaults:
    """The faulty disks of one cluster. `on_failure` is called once for each log directory that is to go offline.

    `refused` has the logs with records that are on no disk, and where these begin. `has_metadata_changed` is
    set by each change of the metadata.
    """

    def __init__(self, cluster: "Cluster", on_failure: "Callable[[Node, LogDirectory], None]") -> None:
        self._cluster = cluster
        self._on_failure = on_failure
        self._failing: dict[LogDirectory, None] = {}
        self.refused: dict[PartitionLog, int] = {}
        self.flushes = SlowFlushes(cluster)
        self.has_metadata_changed = False
        self._checkpoints: dict[int, Deadline] = {}  # by node id

    def watch(self, partition: "Partition") -> None:
        """Let the log of a partition ask before it is written to, if a disk of one of its replicas may refuse."""
        self._place_replicas()
        self._watch(partition)

    def _place_replicas(self) -> None:
        """Every replica is in a directory: a look at the directories of a broker sees to that (`Node`)."""
        for node in self._cluster.nodes.values():
            _ = node.log_directories

    def _watch(self, partition: "Partition") -> None:
        log = partition.used_log
        if log is not None:
            nodes = [self._cluster.nodes[each] for each in partition.replicas if each in self._cluster.nodes]
            may_refuse = any(node.directory_of(partition).free_bytes is not None for node in nodes)
            log.disk_guard = LogGuard(self, partition) if may_refuse else None
            self.flushes.watch(partition)

    @property
    def is_any_slow(self) -> bool:
        """Whether a disk of any broker is slow."""
        return any(each.flush_ms for node in self._cluster.nodes.values() for each in node.log_directories.all)

    def changed(self, node: "Node", now: Instant) -> None:
        """The disks of a broker have other faults than before."""
        self._place_replicas()
        for partition in self._cluster.replicas_on(node.id):
            self._watch(partition)
        self._schedule_checkpoint(node, now)

    def _schedule_checkpoint(self, node: "Node", now: Instant) -> None:
        deadline = self._checkpoints.pop(node.id, None)
        if deadline is not None:
            deadline.end()
        if any(each.free_bytes is not None for each in node.log_directories.all):
            deadline = self._checkpoints[node.id] = Deadline(lambda now: self._checkpoint(node, now), owner=node)
            self._cluster.timers.mono.arm(deadline, now.mono_ms + node.settings.get_int(_CHECKPOINT_INTERVAL))

    def _checkpoint(self, node: "Node", now: Instant) -> None:
        """The broker writes its high watermarks to every directory: a full disk is noticed without any client."""
        if node.is_running:
            for directory in node.log_directories.online:
                if directory.free_bytes == 0:
                    self._fail(node, directory)
        self._schedule_checkpoint(node, now)

    def write(self, partition: "Partition", node_id: int, size_bytes: int) -> bool:
        """Write to the replica of a broker. False if its disk cannot take it; then the directory is to go offline."""
        node = self._cluster.nodes.get(node_id)
        if node is None or not node.is_replicating:
            return True
        directory = node.directory_of(partition)
        if not directory.is_online or directory.take(size_bytes):
            return True
        self._fail(node, directory)
        return False

    def _fail(self, node: "Node", directory: "LogDirectory") -> None:
        if directory not in self._failing:
            self._failing[directory] = None
            self._on_failure(node, directory)

    def forget_refused(self, node: "Node", directory: "LogDirectory", now: Instant) -> None:
        """A directory goes: records that it refused are lost, and were not acknowledged."""
        self._failing.pop(directory, None)
        for log, end_offset in list(self.refused.items()):
            partition = self._partition_of(log)
            if partition is None or (partition.leader == node.id and node.directory_of(partition) is directory):
                del self.refused[log]
                log.truncate(end_offset, now)

    def _partition_of(self, log: "PartitionLog") -> "Partition | None":
        """The partition of a log; None for one that was deleted."""
        return self._cluster.topics.partition(log.partition.topic.name, log.partition.index)

    def take_offline(self, node: "Node", directory: "LogDirectory", now: Instant) -> None:
        """The directory failed, and the broker goes on with its others."""
        self.forget_refused(node, directory, now)
        broker_life.directory_failed(self._cluster, node, directory, now)
