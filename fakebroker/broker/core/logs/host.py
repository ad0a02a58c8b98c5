"""What a log needs of its surroundings. `Partition` and its cluster implement it."""

from typing import TYPE_CHECKING, Protocol

from fakebroker.broker.core.deadlines import Timers
from fakebroker.broker.core.logs.pending_batches import PendingBatchMemory
from fakebroker.broker.core.topic_config import TopicConfig
from fakebroker.broker.release import Behaviours

if TYPE_CHECKING:
    from fakebroker.broker.core.logs.log import PartitionLog


class LogWatcher(Protocol):
    """Hears what happens to logs, and schedules the periodic jobs by it. `LogJobs` implements it."""

    def segment_began(self, log: "PartitionLog", wall_ms: int) -> None:
        """`log` writes into an empty segment: one more that can fall due, and those before it are closed."""

    def grew(self, log: "PartitionLog", wall_ms: int) -> None:
        """A log whose size matters (RT-3) was written to, or its start moved (RT-4)."""

    def producer_wrote(self, timestamp_ms: int, wall_ms: int) -> None:
        """A producer's last batch has this timestamp now, which may be earlier than before (ID-11)."""

    def verification_began(self, log: "PartitionLog", wall_ms: int) -> None:
        """The transaction coordinator is asked about a producer."""

    def watch(self, log: "PartitionLog") -> None:
        """A log has batches already."""


class LogStore(Protocol):
    """What keeps one log on a disk. It learns of appends as a waiter of the log."""

    has_unloaded: bool
    """Whether any segment may be on disk only (unloaded_segments.py); once none is, none ever will be."""

    def altered(self, offset: int) -> None:
        """Stored batches at or after the offset were changed or removed."""

    def segments_changed(self) -> None:
        """Segments were deleted, or replaced by cleaned ones."""


class DiskGuard(Protocol):
    """Stands before the writes to one log, while a disk that it is on may refuse them. `LogGuard` implements it."""

    def takes(self, size_bytes: int) -> bool:
        """Write so many bytes to the disks. False if the leader's cannot take them."""

    def refuse(self, log: "PartitionLog") -> None:
        """What is appended next is on no disk: nothing of it is replicated or answered."""

    def has_refused(self, log: "PartitionLog") -> bool:
        """Whether the log ends with records that are on no disk."""


class LogCluster(Protocol):
    """What all logs of a cluster share."""

    @property
    def behaviours(self) -> Behaviours: ...

    @property
    def pending_batch_memory(self) -> PendingBatchMemory: ...

    @property
    def log_jobs(self) -> LogWatcher: ...

    @property
    def timers(self) -> Timers: ...


class LogTopic(Protocol):
    """The topic of a log."""

    @property
    def name(self) -> str: ...

    @property
    def config(self) -> TopicConfig: ...

    @property
    def cluster(self) -> LogCluster: ...


class LogPartition(Protocol):
    """The partition that a log belongs to. `changes` counts what waiting fetches are woken for."""

    changes: int
    leader_epoch: int

    @property
    def topic(self) -> LogTopic: ...

    @property
    def index(self) -> int: ...
