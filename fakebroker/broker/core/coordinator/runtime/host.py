"""What coordinators need of the brokers and the cluster. `Node` and `Cluster` implement it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from fakebroker.broker.core.topics import Partition
from fakebroker.broker.core.topics_host import LeaderListener, TopicsHost, TopicsNode
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.core.deadlines import Deadline
    from fakebroker.broker.core.events import CoreEvent


class LoadedPartitions(LeaderListener, Protocol):
    """A coordinator of a broker, as the coordinators of other brokers see it."""

    @property
    def topic_name(self) -> str:
        """The internal topic whose partitions it coordinates."""

    def unload(self, partition: int, now: Instant) -> None:
        """Forget a partition, if it is loaded, because another broker coordinates it now (ST-14)."""


class CoordinatorNode(TopicsNode, Protocol):
    """A broker, as its own coordinators and those of other brokers see it."""

    @property
    def cluster(self) -> "CoordinatorHost": ...

    @property
    def coordinators(self) -> Sequence[LoadedPartitions]: ...

    @property
    def has_process(self) -> bool:
        """Whether there is a process, running or frozen."""

    @property
    def incarnation(self) -> int:
        """How many processes there were: what one of them had in hand is nothing to the next."""

    def reaches(self, other: "TopicsNode") -> bool:
        """Whether a request of this broker to another, or to itself, is answered now."""

    def run_when_thawed(self, deadline: "Deadline", now: Instant) -> None:
        """A frozen one: a timer of its process came up, which stands still."""


class CoordinatorHost(TopicsHost, Protocol):
    """The cluster, as coordinators see it."""

    @property
    def nodes(self) -> Mapping[int, CoordinatorNode]: ...

    @property
    def outbox(self) -> "list[CoreEvent]": ...

    @property
    def group_configs(self) -> dict[str, dict[str, str]]:
        """The groups' own configs, by group id."""

    def coordinator_partition(self, topic: str, key: str) -> Partition:
        """The partition of an internal topic that holds `key`. The topic is made if need be."""
