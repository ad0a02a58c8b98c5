"""Markers into partitions: what the leader of a partition does when a transaction ends (WM).

For the transaction coordinator's own completion, and for WriteTxnMarkers of others. Kafka: `KafkaApis.
handleWriteTxnMarkersRequest`, `GroupCoordinator.completeTransaction`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from fakebroker.broker.core.coordinator.runtime.host import CoordinatorHost, CoordinatorNode
from fakebroker.broker.core.topics import CONSUMER_OFFSETS
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.core.topics import Partition
    from fakebroker.broker.core.transactions.producer import Producer


class MarkedGroups(Protocol):
    """The groups of one partition of `__consumer_offsets`, with offsets that are pending in transactions."""

    def end_transaction(
        self, producer: "Producer", *, commit: bool, coordinator_epoch: int, now: Instant, is_tv2: bool
    ) -> int:
        """Append the marker of a transaction, and complete its pending offsets (WM-5); returns the marker's offset."""


class MarkedCoordinator(Protocol):
    """The group coordinator of a broker."""

    @property
    def shards(self) -> Mapping[int, MarkedGroups]:
        """What it has loaded, by the index of the partition."""


class MarkerNode(CoordinatorNode, Protocol):
    """A broker that markers are written on."""

    @property
    def coordinator(self) -> MarkedCoordinator: ...


class MarkerCluster(CoordinatorHost, Protocol):
    """The cluster that markers are written in."""

    @property
    def nodes(self) -> Mapping[int, MarkerNode]: ...


def write_marker(
    cluster: MarkerCluster,
    partition: "Partition",
    producer: "Producer",
    *,
    commit: bool,
    coordinator_epoch: int,
    now: Instant,
    is_tv2: bool,
) -> int:
    """Append the marker that ends the producer's transaction to a partition, at its leader; returns its offset.

    `producer` has the epoch that the marker carries: under TV2 (`is_tv2`) one more than that of the data (TX-12). On
    `__consumer_offsets` the offsets that are pending in the transaction are committed or dropped with it (WM-5).

    Raises KafkaError, and nothing has changed:
    UNKNOWN_TOPIC_OR_PARTITION if the topic was deleted meanwhile (the transaction ends without it);
    NOT_LEADER_OR_FOLLOWER without a running leader, or while it loads the groups of the partition, and
    NOT_ENOUGH_REPLICAS with too few in sync: after these two one tries again;
    INVALID_PRODUCER_EPOCH and TRANSACTION_COORDINATOR_FENCED (WM-2, WM-3): somebody else has ended or fenced it.
    """
    topic = partition.topic
    if cluster.topics.by_id(topic.id) is not topic:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{topic.name} was deleted")
    leader = cluster.nodes.get(partition.leader)
    if leader is None or not leader.is_running:
        raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{topic.name}-{partition.index} has no running leader")
    if topic.name == CONSUMER_OFFSETS:
        shard = leader.coordinator.shards.get(partition.index)  # one that is not loaded yet will read the marker
        if shard is not None:
            try:
                return shard.end_transaction(
                    producer, commit=commit, coordinator_epoch=coordinator_epoch, now=now, is_tv2=is_tv2
                )
            except KafkaError as error:
                raise _as_partition_error(error) from None
    if len(partition.isr) < partition.min_isr:
        raise KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS, f"{topic.name}-{partition.index}: too few replicas are in sync")
    return partition.log.append_marker(
        *producer, now, commit=commit, coordinator_epoch=coordinator_epoch, is_tv2=is_tv2
    )


_COORDINATOR_ERRORS = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


def _as_partition_error(error: KafkaError) -> KafkaError:
    """A failure of the group coordinator is the error of its partition (WM-5)."""
    if error.code in _COORDINATOR_ERRORS:
        return KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, error.message)
    return error
