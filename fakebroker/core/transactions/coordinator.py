"""Which transactional ids a broker coordinates: those of the partitions of `__transaction_state` that it leads."""

from typing import TYPE_CHECKING

from fakebroker.core.transactions.shard import TransactionShard
from fakebroker.instant import Instant

if TYPE_CHECKING:
    from fakebroker.core.cluster import Cluster
    from fakebroker.core.node import Node


class TransactionCoordinator:
    """The transaction coordinator of one broker: `node.transactions`."""

    def __init__(self, cluster: "Cluster", node: "Node") -> None:
        self.cluster = cluster
        self.node = node
        self.shards: dict[int, TransactionShard] = {}

    def shard(self, transactional_id: str, now: Instant) -> TransactionShard:
        """The shard that holds the transactional id, loaded if need be.

        Raises KafkaError: COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE.
        """
        raise NotImplementedError

    def all_shards(self, now: Instant) -> list[TransactionShard]:
        """The shards of this broker by partition, without those being loaded."""
        raise NotImplementedError

    @property
    def is_loading(self) -> bool:
        """Whether any partition is being loaded."""
        raise NotImplementedError
