"""Which transactional ids a broker coordinates: those of the partitions of `__transaction_state` that it leads."""

from typing import TYPE_CHECKING

from fakebroker.broker.core.coordinator.runtime.partition_coordinator import PartitionCoordinator
from fakebroker.broker.core.topics import TRANSACTION_STATE
from fakebroker.broker.core.transactions.host import TransactionNode
from fakebroker.broker.core.transactions.loading import load_transactions
from fakebroker.broker.core.transactions.shard import TransactionShard
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.core.topics import Partition


class TransactionCoordinator(PartitionCoordinator[TransactionShard, TransactionNode]):
    """The transaction coordinator of one broker: a shard for each partition that it leads and has been asked for."""

    topic_name = TRANSACTION_STATE

    def _new_shard(self, partition: "Partition", since: Instant) -> TransactionShard:
        return TransactionShard(self.node, partition, since)

    def _fill(self, shard: TransactionShard, now: Instant) -> None:
        load_transactions(shard, now)

    def leader_changed(self, partition: "Partition", now: Instant) -> None:
        """As every coordinator; transactions that wait for the leader of a partition go on."""
        super().leader_changed(partition, now)
        for shard in self.shards.values():
            shard.completions.leader_changed(now)
