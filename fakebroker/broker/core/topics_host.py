"""What topics and partitions need of the cluster, of its brokers and of what keeps its state."""

from collections.abc import Generator, Iterable, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Protocol, TypeAlias

from fakebroker.broker.core.deadlines import Timers
from fakebroker.broker.release import Behaviours
from fakebroker.broker.settings import Settings
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import Pace

if TYPE_CHECKING:
    from fakebroker.broker.core.logs.host import LogWatcher
    from fakebroker.broker.core.logs.log import PartitionLog
    from fakebroker.broker.core.logs.pending_batches import PendingBatchMemory
    from fakebroker.broker.core.metadata_parts import PartOrEntry
    from fakebroker.broker.core.topics import Partition, Topic, Topics

    What: TypeAlias = Topic | Partition | PartOrEntry


class LeaderListener(Protocol):
    """A coordinator on a broker: it loads and unloads what changes its leader."""

    def leader_changed(self, partition: "Partition", now: Instant) -> None:
        """The partition has a new leader, or the broker hears of it only now."""


class TopicsNode(Protocol):
    """A broker, as the partitions on it see it."""

    log_ends: "dict[Partition, int]"

    @property
    def id(self) -> int: ...

    @property
    def rack(self) -> str | None: ...

    @property
    def settings(self) -> Settings: ...

    @property
    def is_unaware(self) -> bool:
        """Whether it does not hear of new leaders."""

    @property
    def is_running(self) -> bool:
        """Whether its process runs, reachable or not."""

    @property
    def is_replicating(self) -> bool:
        """Whether its replicas fetch from their leaders."""

    @property
    def coordinators(self) -> Sequence[LeaderListener]: ...


class Storage(Protocol):
    """What keeps the state of a cluster beyond the process: a data directory."""

    def log_made(self, log: "PartitionLog") -> None:
        """A partition is used for the first time; its log is still empty. The storage sets `log.store`."""

    def metadata_changed(self, what: "What") -> None:
        """A topic exists now, was changed or is deleted; or replicas or leader of a partition; or a part or entry."""

    def copied_ahead(self, partition: "Partition", replicas: Sequence[int], pace: Pace) -> Generator[None, None, None]:
        """Copy a partition's log to brokers that are about to get it, in steps: the move itself is short then.

        A segment is one unit of the pace.
        """


class TopicsHost(Protocol):
    """What topics, and reading their logs, need of the cluster."""

    @property
    def settings(self) -> Settings: ...

    @property
    def behaviours(self) -> Behaviours: ...

    @property
    def random(self) -> Random: ...

    @property
    def timers(self) -> Timers: ...

    @property
    def topics(self) -> "Topics": ...

    @property
    def nodes(self) -> Mapping[int, TopicsNode]: ...

    @property
    def pending_batch_memory(self) -> "PendingBatchMemory": ...

    @property
    def log_jobs(self) -> "LogWatcher": ...

    @property
    def storage(self) -> "Storage | None":
        """What keeps the state beyond the process."""

    def metadata_changed(self, what: "What") -> None:
        """Tell the storage, if there is one."""

    def watch_disks(self, partition: "Partition") -> None:
        """A partition has a log now: let faults of disks concern it, if there are any."""

    def live(self, node_ids: Iterable[int]) -> list[int]:
        """Those of the nodes that are known and not fenced, in the given order."""

    def new_uuid(self) -> bytes:
        """A random UUID."""

    def assign_replicas(self, first: int, count: int, replication_factor: int) -> list[list[int]]:
        """Where `count` new partitions of a topic will be, from index `first` on."""

    def check_new_partitions(self, assignments: Sequence[Sequence[int]], replication_factor: int) -> None:
        """Raises KafkaError(INVALID_REPLICA_ASSIGNMENT) for replicas that new partitions cannot have (CLU-25)."""
