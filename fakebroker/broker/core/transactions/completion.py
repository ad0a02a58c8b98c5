"""Transactions whose end is decided: their markers go into all partitions, in order, and then they are complete.

It happens right after EndTxn was answered, by a deadline (TX-2). A partition whose leader is not reached, and one whose
replicas lag, is tried again until it has its marker; one whose topic was deleted needs none.
MOCK: so is a partition without any leader. Kafka 4.3.1 takes it for deleted: it writes no marker there, ever.
Kafka: `TransactionMarkerChannelManager`, `TransactionMarkerRequestCompletionHandler`.
"""

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from fakebroker.broker.core.deadlines import Deadline
from fakebroker.broker.core.transactions.states import TransactionInput, TransactionState
from fakebroker.broker.core.transactions.transaction import Transaction
from fakebroker.broker.core.transactions.transaction_markers import write_marker
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.core.topics import Partition
    from fakebroker.broker.core.transactions.shard import TransactionShard

RETRY_MS = 100
"""How soon a partition that could not be written to is tried again, monotonic time."""
MARKERS_PER_STEP = 500
PAUSE_MS = 50
"""After so many markers there is a pause for others, three times as long as they take."""
_GIVES_UP = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED)
"""Somebody else has fenced the producer or this coordinator (WM-2, WM-3): another try would end alike. As in Kafka the
transaction stays in its Prepare state until a coordinator loads it."""


class _Sent(NamedTuple):
    """A marker that replicas do not have yet: in which leader epoch it was written, and where the log ends then."""

    leader_epoch: int
    end_offset: int


class _Ending:
    """One transaction on its way, with what is known of its markers."""

    __slots__ = ("deadline", "is_waiting", "sent", "transaction")

    def __init__(self, transaction: Transaction, deadline: Deadline) -> None:
        self.transaction = transaction
        self.deadline = deadline
        self.is_waiting = False  # for a partition that could not be written to
        self.sent: dict[Partition, _Sent] = {}


class Completions:
    """The transactions of one shard that are ending."""

    def __init__(self, shard: "TransactionShard") -> None:
        self._shard = shard
        self._delay_ms = shard.settings.get_int("fakebroker.transaction.markers.delay.ms")
        self._endings: dict[str, _Ending] = {}

    def __len__(self) -> int:
        return len(self._endings)

    def begin(self, transaction: Transaction, now: Instant) -> None:
        """The end of the transaction is stored: write its markers, as soon as the client has its answer."""
        deadline = Deadline(partial(self._go_on, transaction.transactional_id), owner=self._shard)
        self._endings[transaction.transactional_id] = _Ending(transaction, deadline)
        self._shard.timers.mono.arm(deadline, now.mono_ms + self._delay_ms)

    def try_again(self, transaction: Transaction, now: Instant) -> None:
        """Something is missing: go on in a while."""
        ending = self._endings.get(transaction.transactional_id)
        if ending is not None:
            ending.is_waiting = True
            self._shard.timers.mono.arm(ending.deadline, now.mono_ms + RETRY_MS)

    def ended(self, transaction: Transaction) -> None:
        """The transaction is complete."""
        self._endings.pop(transaction.transactional_id).deadline.end()

    def leader_changed(self, now: Instant) -> None:
        """Some partition has a new leader: those that were waiting for one go on at once."""
        for ending in self._endings.values():
            if ending.is_waiting and ending.deadline.due_ms is not None:
                self._shard.timers.mono.arm(ending.deadline, now.mono_ms)

    def stop(self) -> None:
        """The partition is unloaded: whoever loads it next goes on (TX-25)."""
        endings, self._endings = self._endings, {}
        for ending in endings.values():
            ending.deadline.end()

    def _go_on(self, transactional_id: str, now: Instant) -> None:
        """Write markers that are missing, up to `MARKERS_PER_STEP`; when none is, the transaction is complete."""
        ending = self._endings[transactional_id]
        transaction, before = ending.transaction, len(ending.sent)
        for each in list(transaction.partitions):
            if len(ending.sent) - before == MARKERS_PER_STEP:
                self._shard.timers.mono.arm(ending.deadline, now.mono_ms + PAUSE_MS)
                return
            topic = self._shard.cluster.topics.get(each.topic)
            partition = None if topic is None else topic.partition(each.partition)
            try:
                if partition is None or self._is_written(ending, partition, now):
                    del transaction.partitions[each]
            except KafkaError as error:
                if error.code in _GIVES_UP:
                    self._endings.pop(transactional_id).deadline.end()
                    return
        if transaction.partitions:
            self.try_again(transaction, now)
        else:
            self._shard.handle(transaction, TransactionInput.MARKERS_WRITTEN, now)

    def _is_written(self, ending: _Ending, partition: "Partition", now: Instant) -> bool:
        """Write the marker into a partition unless it is there. Returns whether all replicas in sync have it.

        Raises KafkaError as `write_marker` does.
        """
        if not self._is_reached(partition):
            return False
        sent = ending.sent.get(partition)
        if sent is None or sent.leader_epoch != partition.leader_epoch:
            transaction = ending.transaction
            write_marker(
                self._shard.cluster,
                partition,
                transaction.producer,
                commit=transaction.state is TransactionState.PREPARE_COMMIT,
                coordinator_epoch=self._shard.coordinator_epoch,
                now=now,
                is_tv2=transaction.is_tv2,
            )
            sent = ending.sent[partition] = _Sent(partition.leader_epoch, partition.log.log_end_offset)
        return partition.log.high_watermark >= sent.end_offset

    def _is_reached(self, partition: "Partition") -> bool:
        """Whether the partition has a leader that runs and that this broker knows and reaches."""
        node = self._shard.node
        if partition.leader not in self._shard.cluster.nodes or node.id in partition.stale_views:
            return False
        return node.reaches(self._shard.cluster.nodes[partition.leader])
