"""One broker of the cluster."""

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from fakebroker.broker.core.coordinator.coordinator import GroupCoordinator
from fakebroker.broker.core.deadlines import Deadline
from fakebroker.broker.core.log_directories import LogDirectories, LogDirectory
from fakebroker.broker.core.transactions.coordinator import TransactionCoordinator
from fakebroker.broker.settings import Settings
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.core.cluster import Cluster
    from fakebroker.broker.core.coordinator.runtime.partition_coordinator import PartitionCoordinator
    from fakebroker.broker.core.logs.fetch_sessions import FetchSessions
    from fakebroker.broker.core.share_partitions.share_partition_manager import SharePartitionManager
    from fakebroker.broker.core.share_state.coordinator import ShareCoordinator
    from fakebroker.broker.core.topics import Partition
    from fakebroker.broker.core.topics_host import TopicsNode


class NodeState(StrEnum):
    """What a broker's process does."""

    RUNNING = "running"
    STOPPED = "stopped"  # shut down cleanly
    KILLED = "killed"
    FROZEN = "frozen"  # as by SIGSTOP


class Node:
    """A broker: its id, its process and what the cluster knows of it, its settings, its coordinators of groups
    and transactions, fetch sessions.

    `is_fenced`: the cluster takes it for dead, so it is not listed, leads nothing and is in sync nowhere (CLU-21).
    `is_cut_off`: it and the other brokers do not reach each other. `is_unaware`: it does not hear of new leaders.
    `incarnation` counts its processes: what one of them had in hand is nothing to the next.
    `log_ends` has for each partition where its replica stopped fetching, while it does not fetch.
    """

    __slots__ = (
        "_fetch_sessions",
        "_log_directories",
        "_share_coordinator",
        "_share_partitions",
        "cluster",
        "coordinator",
        "id",
        "incarnation",
        "is_cut_off",
        "is_fenced",
        "is_unaware",
        "learns",
        "log_ends",
        "session",
        "settings",
        "state",
        "stopped_timers",
        "transactions",
    )

    def __init__(self, cluster: "Cluster", node_id: int, settings: Settings) -> None:
        self.cluster = cluster
        self.id = node_id
        self.settings = settings
        self.state = NodeState.RUNNING
        self.incarnation = 1
        self.is_fenced = False
        self.is_cut_off = False
        self.is_unaware = False
        self.session: Deadline | None = None  # runs out when the controller has not heard of it for too long
        self.learns: Deadline | None = None  # when it hears again
        self.stopped_timers: list[tuple[bool, int, Deadline]] = []  # of a frozen one: of wall time?, due when, which
        self.log_ends: dict[Partition, int] = {}
        self.coordinator = GroupCoordinator(cluster, self)
        self.transactions = TransactionCoordinator(cluster, self)
        self._share_coordinator: ShareCoordinator | None = None
        self._fetch_sessions: FetchSessions | None = None
        self._log_directories: LogDirectories | None = None
        self._share_partitions: SharePartitionManager | None = None

    @property
    def rack(self) -> str | None:
        """The broker's rack (`broker.rack`), None if it is not set."""
        return None if self.settings.is_null("broker.rack") else self.settings.get_str("broker.rack")

    @property
    def is_running(self) -> bool:
        """Whether its process runs, reachable or not."""
        return self.state is NodeState.RUNNING

    @property
    def has_process(self) -> bool:
        """Whether there is a process, running or frozen."""
        return self.state in (NodeState.RUNNING, NodeState.FROZEN)

    @property
    def is_replicating(self) -> bool:
        """Whether its replicas fetch from their leaders."""
        return self.state is NodeState.RUNNING and not self.is_cut_off

    def reaches(self, other: "TopicsNode") -> bool:
        """Whether a request of this broker to another, or to itself, is answered now."""
        if self is other:
            return self.is_running
        return self.is_replicating and other.is_replicating

    def end_process(self, state: NodeState) -> None:
        """Its process ends: fetch sessions and what share groups acquired are lost; settings and logs are on disk."""
        self.state = state
        self.incarnation += 1
        self._fetch_sessions = None
        self.forget_share_partitions()

    def run_when_thawed(self, deadline: Deadline, now: Instant) -> None:
        """A frozen one: a timer of its process came up, which stands still."""
        self.stopped_timers.append((False, now.mono_ms, deadline))

    @property
    def coordinators(self) -> "tuple[PartitionCoordinator[Any, Any], ...]":
        """The coordinators of groups and of transactions, and that of share partitions once it was asked for."""
        if self._share_coordinator is None:
            return self.coordinator, self.transactions
        return self.coordinator, self.transactions, self._share_coordinator

    @property
    def share_coordinator(self) -> "ShareCoordinator":
        """The coordinator of share partitions (KIP-932), made when it is first asked for."""
        if self._share_coordinator is None:
            from fakebroker.broker.core.share_state.coordinator import ShareCoordinator

            self._share_coordinator = ShareCoordinator(self.cluster, self)
        return self._share_coordinator

    @property
    def log_directories(self) -> LogDirectories:
        """Its log directories, with every replica that it has in one of them."""
        if self._log_directories is None:
            self._log_directories = LogDirectories(self.settings.get_list("log.dirs"))
        if len(self._log_directories.all) > 1:  # looks at every partition
            self._log_directories.place(self.cluster.replicas_on(self.id))
        return self._log_directories

    def directory_of(self, partition: "Partition") -> LogDirectory:
        """The log directory that has its replica of a partition."""
        return (self._log_directories or self.log_directories).of(partition)

    @property
    def has_offline_directory(self) -> bool:
        """Whether one of its log directories has failed since it started."""
        directories = self._log_directories
        return directories is not None and len(directories.online) < len(directories.all)

    @property
    def fetch_sessions(self) -> "FetchSessions":
        """The fetch sessions of this broker's clients (KIP-227, FS)."""
        if self._fetch_sessions is None:
            from fakebroker.broker.core.logs.fetch_sessions import FetchSessions

            self._fetch_sessions = FetchSessions(self.cluster, has_owners=self.cluster.authorizer is not None)
        return self._fetch_sessions

    @property
    def share_partitions(self) -> "SharePartitionManager":
        """What this broker has in memory of share groups' partitions (KIP-932), made when it is first asked for."""
        if self._share_partitions is None:
            from fakebroker.broker.core.share_partitions.share_partition_manager import SharePartitionManager

            self._share_partitions = SharePartitionManager(self)
        return self._share_partitions

    def forget_share_partitions(self) -> None:
        """What share groups have acquired is lost, and nothing of it is stored or released any more."""
        if self._share_partitions is not None:
            self._share_partitions.end()
            self._share_partitions = None

    @property
    def has_share_partitions(self) -> bool:
        """Whether a share group ever fetched from this process."""
        return self._share_partitions is not None
