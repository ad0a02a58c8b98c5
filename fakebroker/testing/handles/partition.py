"""One partition as a test sees it: who leads, who has a replica, who is in sync, and changing that."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, TypeVar

from fakebroker.broker.core import elections
from fakebroker.protocol.arguments.kinds import WHOLE
from fakebroker.protocol.arguments.structures import ListOf
from fakebroker.protocol.errors import InvalidArgument
from fakebroker.protocol.instant import Instant
from fakebroker.testing.handles.handle import Handle
from fakebroker.testing.handles.node import known_node

if TYPE_CHECKING:
    from fakebroker.broker.core.cluster import Cluster
    from fakebroker.broker.core.topics import Partition
    from fakebroker.testing.handles.access import EngineAccess

T = TypeVar("T")
NodeIds = Annotated[Sequence[int], ListOf(WHOLE, 1)]


class PartitionHandle(Handle):
    """A partition of a topic.

    Methods of a missing partition raise KafkaError(UNKNOWN_TOPIC_OR_PARTITION). Node ids are those of
    `broker.nodes`; -1 is none.
    """

    def __init__(self, access: "EngineAccess", topic: str, index: int, find: "Callable[[Cluster], Partition]") -> None:
        super().__init__(access)
        self.topic = topic
        self.index = index
        self._find = find

    def __repr__(self) -> str:
        return f"<partition {self.topic}-{self.index}>"

    @property
    def leader(self) -> int:
        """The node that leads it, -1 for none."""
        return self._ask(lambda partition: partition.leader)

    @property
    def leader_epoch(self) -> int:
        """The leader epoch, which rises with every change of the leader."""
        return self._ask(lambda partition: partition.leader_epoch)

    @property
    def replicas(self) -> list[int]:
        """The nodes that have a replica; the first is the preferred leader."""
        return self._ask(lambda partition: list(partition.replicas))

    @property
    def in_sync(self) -> list[int]:
        """The nodes whose replicas are in sync (the ISR)."""
        return self._ask(lambda partition: list(partition.isr))

    @property
    def high_watermark(self) -> int:
        """The high watermark: consumers read up to it, and all in-sync replicas have the records before it."""
        return self._ask(lambda partition: partition.log.high_watermark if partition.has_log else 0)

    @property
    def log_end_offset(self) -> int:
        """The offset of the next record."""
        return self._ask(lambda partition: partition.end_offset)

    def move_leader(self, to: int) -> None:
        """Move the leadership to another replica, as a preferred election after a reassignment does (CLU-30).

        Raises UnknownThing for a node that does not exist, InvalidArgument for one that has no replica, is fenced, or
        is not in sync.
        """

        def move(cluster: "Cluster", now: Instant) -> None:
            partition = self._find(cluster)
            node = known_node(cluster, "to", to)
            why = None
            if to not in partition.replicas:
                why = f"has no replica; replicas are on {_listed(partition.replicas)}"
            elif node.is_fenced:
                why = "is fenced"
            elif to not in partition.isr:
                why = f"is not in sync; the in-sync replicas are {_listed(partition.isr)}"
            if why is not None:
                raise InvalidArgument("to", to, f"node {to} cannot lead {self.topic}-{self.index}: it {why}")
            elections.move_leader(partition, to, now)

        self._with_cluster(move)

    def reassign(self, replicas: NodeIds) -> None:
        """Change its replicas, at once (KIP-455). The leader stays if it is among them.

        Raises UnknownThing for a node that does not exist, InvalidArgument for an empty list, a duplicate, or a list
        without a live node.
        """

        def move(cluster: "Cluster", now: Instant) -> None:
            partition = self._find(cluster)
            ids = self._checked(cluster, "replicas", replicas)
            if not cluster.live(ids):
                raise InvalidArgument("replicas", ids, f"replicas are {_listed(ids)}: none of these nodes is alive")
            elections.reassign(partition, ids, now)

        self._with_cluster(move)

    def set_in_sync(self, nodes: NodeIds) -> None:
        """Set the in-sync replicas; the others stay out of sync until this is called again with their nodes.

        With fewer than `min.insync.replicas` a Produce with acks -1 is answered NOT_ENOUGH_REPLICAS, and the high
        watermark stays (CLU-60, CLU-62). Raises UnknownThing for a node that does not exist, InvalidArgument for one
        that has no replica or is fenced, for one named twice, and without the leader.
        """

        def change(cluster: "Cluster", now: Instant) -> None:
            partition = self._find(cluster)
            ids = self._checked(cluster, "nodes", nodes)
            wrong = [node_id for node_id in ids if node_id not in partition.replicas or not cluster.live([node_id])]
            if wrong:
                text = f"nodes are {_listed(ids)}, but node {wrong[0]} has no live replica of {self.topic}-{self.index}"
                raise InvalidArgument("nodes", ids, text)
            if partition.leader >= 0 and partition.leader not in ids:
                text = f"nodes are {_listed(ids)}: the leader, node {partition.leader}, is always in sync"
                raise InvalidArgument("nodes", ids, text)
            elections.set_in_sync(partition, ids, now)

        self._with_cluster(change)

    def _checked(self, cluster: "Cluster", field: str, nodes: Sequence[int]) -> list[int]:
        """The ids, each of a node that exists and once."""
        for node_id in nodes:
            known_node(cluster, field, node_id)
        if len(dict.fromkeys(nodes)) < len(nodes):
            raise InvalidArgument(field, nodes, f"{field} are {_listed(nodes)}: a node is named twice")
        return list(nodes)

    def _ask(self, question: "Callable[[Partition], T]") -> T:
        return self._with_cluster(lambda cluster, _now: question(self._find(cluster)))


def _listed(node_ids: Sequence[int]) -> str:
    return ", ".join(map(str, node_ids)) or "none"
