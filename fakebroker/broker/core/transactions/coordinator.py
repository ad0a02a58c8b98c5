"""Which transactional ids a broker coordinates: those of the partitions of `__transaction_state` that it leads.

A partition is loaded from its log: transactional ids are what its records say (TS, TX-25). Kafka:
`TransactionStateManager.loadTransactionMetadata`.
"""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from fakebroker.broker.core.coordinator.runtime.partition_coordinator import PartitionCoordinator
from fakebroker.broker.core.coordinator.runtime.process_steps import Steps
from fakebroker.broker.core.coordinator.runtime.reading import RECORDS_PER_STEP, cost_of, read_in_steps
from fakebroker.broker.core.topics import TRANSACTION_STATE
from fakebroker.broker.core.transactions.host import TransactionNode
from fakebroker.broker.core.transactions.shard import TransactionShard
from fakebroker.broker.core.transactions.table import HANDLERS
from fakebroker.broker.core.transactions.transaction import Transaction
from fakebroker.protocol.errors import WireError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.records.batch import parse_header, read_records
from fakebroker.protocol.records.transaction_log import TransactionEntry, TransactionValue, read_transaction

if TYPE_CHECKING:
    from fakebroker.broker.core.topics import Partition


class TransactionCoordinator(PartitionCoordinator[TransactionShard, TransactionNode]):
    """The transaction coordinator of one broker: a shard for each partition that it leads and has been asked for."""

    topic_name = TRANSACTION_STATE

    def _new_shard(self, partition: "Partition", since: Instant) -> TransactionShard:
        return TransactionShard(self.node, partition, since)

    def _fill(self, shard: TransactionShard) -> Steps:
        return load_transactions(shard)

    def leader_changed(self, partition: "Partition", now: Instant) -> None:
        """As every coordinator; transactions that wait for the leader of a partition go on."""
        super().leader_changed(partition, now)
        for shard in self.shards.values():
            shard.completions.leader_changed(now)


def load_transactions(shard: "TransactionShard") -> Steps:
    """Fill the shard from its log, in steps. Raises WireError naming the record that cannot be read."""
    values: dict[str, TransactionValue] = {}
    yield from read_in_steps(shard, partial(_replay, values))
    pace = Pace(RECORDS_PER_STEP)
    for transactional_id, value in values.items():
        transaction = Transaction(transactional_id)
        transaction.replay(value)
        shard.adopt(transaction, shard.timers.passes.now)
        if pace.is_over(1 + len(value.partitions)):
            yield


def _replay(values: dict[str, TransactionValue], batch: bytes, pace: Pace) -> Iterator[None]:
    """Apply the records of a batch, in steps; control batches say nothing of transactional ids."""
    for record in () if parse_header(batch).is_control else read_records(batch):
        entry = read_transaction(record.key, record.value)
        if entry is not None:
            _apply(values, entry)
        if pace.is_over(cost_of(record)):
            yield


def _apply(values: dict[str, TransactionValue], entry: TransactionEntry) -> None:
    if entry.value is None:
        values.pop(entry.transactional_id, None)
    elif entry.value.status in HANDLERS:
        values[entry.transactional_id] = entry.value
    else:
        raise WireError(f"transactional id {entry.transactional_id!r} has status {entry.value.status}")
