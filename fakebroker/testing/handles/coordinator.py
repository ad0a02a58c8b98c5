"""Coordinators of groups and of transactions as a test sees them: where one is, moving it, making it load its log,
letting it become a zombie.
"""

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from fakebroker.broker.core import broker_life, elections
from fakebroker.broker.core.topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from fakebroker.protocol.arguments.types import Seconds
from fakebroker.protocol.errors import InvalidArgument
from fakebroker.protocol.instant import Instant
from fakebroker.testing.handles.finding_transactions import expected_coordinator
from fakebroker.testing.handles.handle import Handle
from fakebroker.testing.handles.node import known_node

if TYPE_CHECKING:
    from fakebroker.broker.core.cluster import Cluster
    from fakebroker.broker.core.coordinator.coordinator import GroupCoordinator
    from fakebroker.broker.core.node import Node
    from fakebroker.broker.core.topics import Partition
    from fakebroker.broker.core.transactions.coordinator import TransactionCoordinator
    from fakebroker.testing.handles.access import EngineAccess


class PartitionLeaderHandle(Handle):
    """The leader of a partition of an internal topic: the coordinator of all that is stored there."""

    _field: ClassVar[str]
    """The argument that says whose coordinator is meant."""
    _topic: ClassVar[str]

    @property
    def node_id(self) -> int:
        """The coordinator's node, -1 if there is none. Before the first request: the future one."""
        return self._with_cluster(lambda cluster, _now: self._expected(cluster)[1])

    @property
    def partition(self) -> int:
        """The partition of the internal topic that it belongs to."""
        return self._with_cluster(lambda cluster, _now: self._expected(cluster)[0])

    def move(self, to: int) -> None:
        """Move the leadership to another node: parked requests get NOT_COORDINATOR, and the new leader loads the log.

        A node without a replica replaces another one. Moving to the present node reloads its log. Raises UnknownThing
        for a node that does not exist, InvalidArgument for one that is fenced.
        """
        self._with_cluster(lambda cluster, now: self._move(cluster, now, to))

    def zombie(self, for_s: Seconds, to: int | None = None) -> None:
        """Move the leadership, but keep the old node unaware of it for `for_s` seconds of monotonic time.

        Until then it answers from its old state: Heartbeat 0, OffsetFetch the old offsets, FindCoordinator itself. Its
        writes are lost; such requests, and heartbeats after the first of them, are answered COORDINATOR_NOT_AVAILABLE
        after `offsets.commit.timeout.ms` (5 s), of a transactional id after `request.timeout.ms`, or NOT_COORDINATOR as
        soon as it learns (CLU-40 to CLU-43). `to` is the new leader, by default the next in-sync replica.

        Raises InvalidArgument for an invalid time and when no other node could lead.
        """
        self._with_cluster(lambda cluster, now: self._zombie(cluster, now, round(for_s * 1000), to))

    def load(self, for_s: Seconds = 0.0) -> None:
        """Make the coordinator reload its log for `for_s` seconds, with COORDINATOR_LOAD_IN_PROGRESS during that time.

        The seconds are of monotonic time, which session timers use, too. Raises InvalidArgument without a coordinator,
        and for a time that is negative or longer than LONGEST_S.
        """
        self._with_cluster(lambda cluster, now: self._load(cluster, now, round(for_s * 1000)))

    def _move(self, cluster: "Cluster", now: Instant, to: int) -> None:
        self._check_alive(cluster, to)
        partition = self._partition(cluster)
        if partition.leader == to:
            self._load(cluster, now, 0)
            return
        if to not in partition.replicas:
            elections.reassign(partition, [to, *partition.replicas][: len(partition.replicas)], now)
        elections.move_leader(partition, to, now)

    def _zombie(self, cluster: "Cluster", now: Instant, for_ms: int, to: int | None) -> None:
        partition = self._partition(cluster)
        old = cluster.nodes.get(partition.leader)
        others = [node_id for node_id in cluster.live(partition.isr) if node_id != partition.leader]
        if to is not None:
            self._check_alive(cluster, to)
        if old is None or not old.is_running or (to or next(iter(others), None)) not in others:
            seen = ", ".join(map(str, others)) or "none"
            by = "" if to is None else f" by node {to}"
            text = f"the coordinator of {self._what} cannot move{by}: other in-sync replicas are {seen}"
            raise InvalidArgument("to", to, text)
        self._coordinator_of(old).shard(self._key, now)
        broker_life.become_zombie(cluster, old, partition, to or others[0], for_ms, now)

    def _check_alive(self, cluster: "Cluster", to: int) -> None:
        node = known_node(cluster, "to", to)
        if node.is_fenced:
            raise InvalidArgument("to", to, f"node {to} is {node.state}, so it cannot be a coordinator")

    def _load(self, cluster: "Cluster", now: Instant, for_ms: int) -> None:
        partition = self._partition(cluster)
        node = cluster.nodes.get(partition.leader)
        if node is None or not node.is_running:
            text = f"{self._topic}-{partition.index} has no leader that could load it"
            raise InvalidArgument(self._field, self._key, text)
        self._coordinator_of(node).load(partition.index, now, for_ms)

    def _partition(self, cluster: "Cluster") -> "Partition":
        return cluster.coordinator_partition(self._topic, self._key)

    @property
    @abstractmethod
    def _key(self) -> str:
        """What is coordinated, by its id."""

    @property
    @abstractmethod
    def _what(self) -> str:
        """The same in words."""

    @abstractmethod
    def _expected(self, cluster: "Cluster") -> tuple[int, int]:
        """The partition and its leader, -1 for none. Makes no topic."""

    @abstractmethod
    def _coordinator_of(self, node: "Node") -> "GroupCoordinator | TransactionCoordinator":
        """The coordinator of this kind on a node."""


class CoordinatorHandle(PartitionLeaderHandle):
    """The coordinator of a group: the node that leads the group's partition of `__consumer_offsets`."""

    _field = "group_id"
    _topic = CONSUMER_OFFSETS

    def __init__(self, access: "EngineAccess", group_id: str) -> None:
        super().__init__(access)
        self.group_id = group_id

    @property
    def _key(self) -> str:
        return self.group_id

    @property
    def _what(self) -> str:
        return f"group {self.group_id}"

    def _expected(self, cluster: "Cluster") -> tuple[int, int]:
        return cluster.expected_coordinator(self.group_id)

    def _coordinator_of(self, node: "Node") -> "GroupCoordinator":
        return node.coordinator


class TransactionCoordinatorHandle(PartitionLeaderHandle):
    """The coordinator of a transactional id: the node that leads its partition of `__transaction_state`."""

    _field = "transactional_id"
    _topic = TRANSACTION_STATE

    def __init__(self, access: "EngineAccess", transactional_id: str) -> None:
        super().__init__(access)
        self.transactional_id = transactional_id

    @property
    def _key(self) -> str:
        return self.transactional_id

    @property
    def _what(self) -> str:
        return f"transactional id {self.transactional_id}"

    def _expected(self, cluster: "Cluster") -> tuple[int, int]:
        return expected_coordinator(cluster, self.transactional_id)

    def _coordinator_of(self, node: "Node") -> "TransactionCoordinator":
        return node.transactions
