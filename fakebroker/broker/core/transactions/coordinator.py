"""Which transactional ids a broker coordinates: those of the partitions of `__transaction_state` that it leads.

A partition is loaded from its log: transactional ids are what its records say (TS, TX-25). Kafka:
`TransactionStateManager.loadTransactionMetadata`.
"""

from typing import TYPE_CHECKING

from fakebroker.broker.core.coordinator.runtime.partition_coordinator import PartitionCoordinator
from fakebroker.broker.core.topics import TRANSACTION_STATE
from fakebroker.broker.core.transactions.host import TransactionNode
from fakebroker.broker.core.transactions.shard import TransactionShard
from fakebroker.broker.core.transactions.table import HANDLERS
from fakebroker.broker.core.transactions.transaction import Transaction
from fakebroker.protocol.errors import WireError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.batch import parse_header, read_records
from fakebroker.protocol.records.faults import InvalidRecord
from fakebroker.protocol.records.transaction_log import TransactionValue, read_transaction

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


def load_transactions(shard: "TransactionShard", now: Instant) -> None:
    """Fill the shard from its log. Raises WireError naming the record that cannot be read."""
    values: dict[str, TransactionValue] = {}
    for batch in shard.partition.log.batches():
        try:
            _replay(batch, values)
        except (WireError, InvalidRecord) as error:
            raise WireError(
                f"{shard.partition.log.name}: batch at {parse_header(batch).base_offset}: {error}"
            ) from error
    for transactional_id, value in values.items():
        transaction = Transaction(transactional_id)
        transaction.replay(value)
        shard.adopt(transaction, now)


def _replay(batch: bytes, values: dict[str, TransactionValue]) -> None:
    """Apply the records of a batch; control batches say nothing of transactional ids."""
    if parse_header(batch).is_control:
        return
    for record in read_records(batch):
        entry = read_transaction(record.key, record.value)
        if entry is None:
            continue
        if entry.value is None:
            values.pop(entry.transactional_id, None)
        elif entry.value.status in HANDLERS:
            values[entry.transactional_id] = entry.value
        else:
            raise WireError(f"transactional id {entry.transactional_id!r} has status {entry.value.status}")
