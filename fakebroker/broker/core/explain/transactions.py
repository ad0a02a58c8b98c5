"""What becomes of a transactional id if nobody does anything: data for programs, text for people (TX-23, TX-24, TX-25).

The answers come from the coordinator as it is now. All times are milliseconds since the epoch; in texts they are UTC.
"""

from typing import TYPE_CHECKING, NamedTuple

from fakebroker.broker.core.dates import date_text
from fakebroker.broker.core.topics import TRANSACTION_STATE
from fakebroker.broker.core.transactions.states import TransactionState
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.records.offsets_topic import TopicPartition

if TYPE_CHECKING:
    from fakebroker.broker.core.cluster import Cluster
    from fakebroker.broker.core.transactions.shard import TransactionShard
    from fakebroker.broker.core.transactions.transaction import Transaction
    from fakebroker.protocol.instant import Instant


class TransactionExplanation(NamedTuple):
    """A transactional id, and what happens to it next. `str()` returns readable text."""

    transactional_id: str
    state: str
    since_ms: int  # when what is stored of it changed last; -1 unknown
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    partitions: tuple[TopicPartition, ...]
    next: str  # what happens if nobody does anything, an English clause
    rule: str
    due_ms: int | None  # from when on that is due; None: by no time
    pass_ms: int | None  # the look at which the coordinator does it

    def __str__(self) -> str:
        since = f" since {date_text(self.since_ms)}" if self.since_ms >= 0 else ""
        lines = [f"transaction {self.transactional_id}: {self.state}{since}"]
        if self.producer_id >= 0:
            lines[0] += f", producer {self.producer_id} with epoch {self.producer_epoch}, timeout {self.timeout_ms} ms"
        if self.partitions:
            lines.append(f"  partitions: {', '.join(map(str, self.partitions))}")
        lines.append(f"  {self._next_text()}{f' ({self.rule})' if self.rule else ''}")
        return "\n".join(lines)

    def _next_text(self) -> str:
        if self.due_ms is None or self.pass_ms is None:
            return self.next
        return f"due {date_text(self.due_ms)}, checked {date_text(self.pass_ms)}: {self.next}"


def explain(cluster: "Cluster", transactional_id: str, now: "Instant") -> TransactionExplanation:
    """What becomes of a transactional id.

    Raises KafkaError if no coordinator can tell (COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE,
    NOT_COORDINATOR).
    """
    shard = shard_of(cluster, transactional_id, now)
    transaction = None if shard is None else shard.transaction(transactional_id)
    if shard is None or transaction is None:
        dead = TransactionState.DEAD.kafka_name
        return TransactionExplanation(
            transactional_id, dead, -1, -1, -1, -1, (), "unknown to every coordinator", "", None, None
        )
    next_step, rule, due_ms, pass_ms = _next(shard, transaction, now)
    return TransactionExplanation(
        transactional_id,
        transaction.state.kafka_name,
        transaction.last_update_ms,
        transaction.producer.id,
        transaction.producer.epoch,
        transaction.timeout_ms,
        tuple(transaction.partitions),
        next_step,
        rule,
        due_ms,
        pass_ms,
    )


def shard_of(cluster: "Cluster", transactional_id: str, now: "Instant") -> "TransactionShard | None":
    """The shard of a transactional id at its coordinator; None where nothing was ever stored: a look makes no topic.

    Raises KafkaError: COORDINATOR_NOT_AVAILABLE without a coordinator, and what one answers that cannot tell.
    """
    if TRANSACTION_STATE not in cluster.topics:
        return None
    partition = cluster.coordinator_partition(TRANSACTION_STATE, transactional_id)
    if not partition.has_log:
        return None
    if partition.leader not in cluster.nodes:
        text = f"transactional id {transactional_id!r} has no coordinator"
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, text)
    return cluster.nodes[partition.leader].transactions.shard(transactional_id, now)


def next_abort_ms(cluster: "Cluster", transaction: "Transaction", now: "Instant") -> int | None:
    """When the coordinator aborts a transaction that stays open (TX-23); None if it is not open."""
    shard = shard_of(cluster, transaction.transactional_id, now)
    return None if shard is None else shard.timeouts.abort_ms(transaction, now)


def _next(
    shard: "TransactionShard", transaction: "Transaction", now: "Instant"
) -> tuple[str, str, int | None, int | None]:
    """What happens if nobody does anything, its rule, when it is due, and the look at which it is done."""
    if transaction.due_ms is not None:
        pass_ms = shard.timeouts.abort_ms(transaction, now)
        return "aborted, with its producer fenced, unless it ends before", "TX-23", transaction.due_ms, pass_ms
    due_ms = shard.expiry.due_ms(transaction)
    if due_ms is not None:
        pass_ms = shard.expiry.grid.next_ms(due_ms, now.wall_ms)
        return "removed, unless it is used before", "TX-24", due_ms, pass_ms
    result = "commit" if transaction.state is TransactionState.PREPARE_COMMIT else "abort"
    waits = [f"{each} has no running leader" for each in transaction.partitions if not _has_leader(shard, each)]
    return "; ".join([f"its {result} markers are being written", *waits]), "TX-2", None, None


def _has_leader(shard: "TransactionShard", named: TopicPartition) -> bool:
    """Whether the marker can be written to a partition now; one of a deleted topic needs none."""
    topic = shard.cluster.topics.get(named.topic)
    partition = None if topic is None else topic.partition(named.partition)
    if partition is None:
        return True
    leader = shard.cluster.nodes.get(partition.leader)
    return leader is not None and leader.is_running
