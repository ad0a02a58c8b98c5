"""Disks that take long to flush (fsync). What waits for it in Kafka is the request that caused it (LR-7).

Kafka flushes a log inside of an append when `flush.messages` are not flushed yet, and the metadata log at each change.
The other flushes, by `flush.ms` and of full segments, hold up no request.
"""

from typing import TYPE_CHECKING

from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.core.cluster import Cluster
    from fakebroker.broker.core.node import Node
    from fakebroker.broker.core.topics import Partition


class _LogFlushes:
    """The flushes of one log: a waiter of the log, which is called after each append."""

    def __init__(self, flushes: "SlowFlushes", partition: "Partition") -> None:
        self._flushes = flushes
        self._partition = partition
        self._flushed_offset = partition.log.log_end_offset
        self._end_ms = 0  # of the last flush: the next cannot begin before

    def __call__(self, now: Instant) -> None:
        partition, log = self._partition, self._partition.log
        node = partition.topic.cluster.nodes.get(partition.leader)
        unflushed = log.log_end_offset - self._flushed_offset
        if node is None or unflushed <= 0 or unflushed < partition.topic.config.get_int("flush.messages"):
            self._flushed_offset = min(self._flushed_offset, log.log_end_offset)
            return
        self._flushed_offset = log.log_end_offset
        self._end_ms = self._flushes.begin(partition.leader, partition, max(self._end_ms, now.mono_ms))


class SlowFlushes:
    """The flushes of all brokers of a cluster.

    `begun` counts those of each broker, and `ends_ms` says when all of them have ended.
    """

    def __init__(self, cluster: "Cluster") -> None:
        self._cluster = cluster
        self._logs: dict[Partition, _LogFlushes] = {}
        self.begun: dict[int, int] = {}
        self.ends_ms: dict[int, int] = {}

    def watch(self, partition: "Partition") -> None:
        """Follow the appends to the log of a partition while the disk of one of its replicas is slow."""
        log, nodes = partition.used_log, self._cluster.nodes
        is_slow = any(nodes[each].directory_of(partition).flush_ms for each in partition.replicas if each in nodes)
        if log is None or is_slow == (partition in self._logs):
            return
        if is_slow:
            log.waiters[self, partition] = self._logs[partition] = _LogFlushes(self, partition)
        else:
            del self._logs[partition]
            log.waiters.pop((self, partition), None)

    def begin(self, node_id: int, partition: "Partition", from_ms: int) -> int:
        """The leader of a partition flushes its log; returns when that ends, on the monotonic reading."""
        node = self._cluster.nodes[node_id]
        return self._begin(node, node.directory_of(partition).flush_ms, from_ms)

    def begin_metadata(self, now: Instant) -> None:
        """The controller flushes the metadata log, which is in the first of its log directories."""
        node = self._cluster.nodes.get(self._cluster.controller_id)
        if node is not None:
            self._begin(node, node.log_directories.all[0].flush_ms, now.mono_ms)

    def _begin(self, node: "Node", flush_ms: int, from_ms: int) -> int:
        end_ms = from_ms + flush_ms
        if flush_ms:
            self.begun[node.id] = self.begun.get(node.id, 0) + 1
            self.ends_ms[node.id] = max(self.ends_ms.get(node.id, 0), end_ms)
        return end_ms
