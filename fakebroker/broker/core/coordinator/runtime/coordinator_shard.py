"""A partition of an internal topic on the node that coordinates what is stored there: what all such have in common."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from fakebroker.broker.core.coordinator.runtime.stranded_log import StrandedLog
from fakebroker.broker.core.deadlines import Deadline
from fakebroker.broker.core.logs.log import PartitionLog
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.core.coordinator.runtime.host import CoordinatorNode
    from fakebroker.broker.core.stale_view import StaleView
    from fakebroker.broker.core.topics import Partition


class ReplicationWait:
    """An answer that waits until what the coordinator wrote is replicated (CLU-42, CLU-43, CLU-63).

    It ends with NONE when all records that the partition has now are replicated, with COORDINATOR_NOT_AVAILABLE after
    the shard's `write_timeout`, and with NOT_COORDINATOR when the partition is unloaded.
    """

    __slots__ = ("_deadline", "_done", "_end_offset", "_log", "_shard")

    def __init__(self, shard: "CoordinatorShard", done: Callable[[ErrorCode, Instant], None], now: Instant) -> None:
        self._shard = shard
        self._done = done
        self._log = shard.log
        self._end_offset = self._log.log_end_offset
        self._deadline = Deadline(lambda now: self.end(ErrorCode.COORDINATOR_NOT_AVAILABLE, now), owner=shard)
        shard.timers.mono.arm(self._deadline, now.mono_ms + shard.settings.get_int(shard.write_timeout))
        shard.waits[self] = None
        self._log.waiters[self] = self._look

    def end(self, code: ErrorCode, now: Instant) -> None:
        """Stop waiting, and say how it went."""
        self.stop()
        self._done(code, now)

    def stop(self) -> None:
        """Stop waiting: the client has gone."""
        self._deadline.end()
        self._log.waiters.pop(self, None)
        self._shard.waits.pop(self, None)

    def _look(self, now: Instant) -> None:
        if self._log.high_watermark >= self._end_offset:
            self.end(ErrorCode.NONE, now)


class CoordinatorShard(ABC):
    """A partition, the log that the coordinator writes to, and the answers that wait until replicas have it.

    `unavailable_code` is the error that every request is answered with while it is not known what is stored:
    COORDINATOR_LOAD_IN_PROGRESS during a load, NOT_COORDINATOR after one that failed; else None.
    """

    write_timeout: ClassVar[str]
    """The setting that says how long a write may wait for replicas, in milliseconds."""

    def __init__(self, node: "CoordinatorNode", partition: "Partition") -> None:
        cluster = node.cluster
        self.node = node
        self.settings = node.settings
        self.behaviours = cluster.behaviours
        self.timers = cluster.timers
        self.cluster = cluster
        self.partition = partition
        self.log: PartitionLog | StrandedLog = partition.log
        self.unavailable_code: ErrorCode | None = None
        self.waits: dict[ReplicationWait, None] = {}  # answers that wait for replicas, nearly always none

    def wait_for_replicas(self, done: Callable[[ErrorCode, Instant], None], now: Instant) -> ReplicationWait:
        """Call `done` once what is written now is replicated, or with the error if that does not come."""
        return ReplicationWait(self, done, now)

    @property
    def is_on_no_disk(self) -> bool:
        """Whether a disk has refused what was written last: the partition is about to be unloaded (LR-5)."""
        guard = self.log.disk_guard
        return guard is not None and guard.has_refused(self.partition.log)

    def strand(self, view: "StaleView") -> None:
        """Another broker leads the partition, and this one does not know: what it writes from now on is lost."""
        if isinstance(self.log, PartitionLog):
            self.log.waiters.pop(self, None)
            self.log = StrandedLog(self.log, view)

    def end_waits(self, now: Instant) -> None:
        """Answer what waits for replicas with NOT_COORDINATOR: the partition is unloaded."""
        self.log.waiters.pop(self, None)
        for wait in list(self.waits):
            wait.end(ErrorCode.NOT_COORDINATOR, now)

    @abstractmethod
    def unload(self, now: Instant, reason: str) -> None:
        """Forget everything, for `reason`: requests that wait are answered with NOT_COORDINATOR, timers disarmed."""

    @abstractmethod
    def wall_time_went_back(self, by_ms: int, now: Instant) -> None:
        """The time of day was set back by `by_ms` to `now`: periodic passes come as soon as they would have."""
