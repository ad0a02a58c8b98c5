"""Transactions whose end is decided: their markers go into all partitions, in order, and then they are complete.

It happens right after EndTxn was answered (TX-2), in turns if the partitions are many. A partition whose leader is not
reached, and one whose replicas lag, is tried again until it has its marker; one whose topic was deleted needs none.
MOCK: so is a partition without any leader. Kafka 4.3.1 takes it for deleted: it writes no marker there, ever.
Kafka: `TransactionMarkerChannelManager`, `TransactionMarkerRequestCompletionHandler`.
"""

from typing import TYPE_CHECKING, NamedTuple

from fakebroker.broker.core.coordinator.runtime.process_steps import ProcessSteps, Steps
from fakebroker.broker.core.logs.unloaded_segments import BATCHES_PER_STEP, before_append
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
MARKERS_PER_STEP = 100
"""How many partitions a step looks at; a marker into a partition without a log takes 0.1 ms."""
_GIVES_UP = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED)
"""Somebody else has fenced the producer or this coordinator (WM-2, WM-3): another try would end alike. As in Kafka the
transaction stays in its Prepare state until a coordinator loads it."""


class _Sent(NamedTuple):
    """A marker that replicas do not have yet: in which leader epoch it was written, and where the log ends then."""

    leader_epoch: int
    end_offset: int


class _Ending:
    """One transaction on its way, with what is known of its markers."""

    __slots__ = ("is_retry", "sent", "steps", "transaction")

    def __init__(self, transaction: Transaction) -> None:
        self.transaction = transaction
        self.steps: ProcessSteps | None = None
        self.is_retry = False  # some partition could not be written to
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
        ending = self._endings[transaction.transactional_id] = _Ending(transaction)
        self._write_after(self._delay_ms, ending, now)

    def try_again(self, transaction: Transaction, now: Instant) -> None:
        """Something is missing: go on in a while."""
        ending = self._endings.get(transaction.transactional_id)
        if ending is not None:
            ending.is_retry = True
            self._write_after(RETRY_MS, ending, now)

    def ended(self, transaction: Transaction) -> None:
        """The transaction is complete."""
        self._forget(transaction)

    def leader_changed(self, now: Instant) -> None:
        """Some partition has a new leader: those that were waiting for one go on at once."""
        for ending in self._endings.values():
            if ending.is_retry and ending.steps is not None and ending.steps.is_waiting:
                ending.steps.begin(now.mono_ms)

    def stop(self) -> None:
        """The partition is unloaded: whoever loads it next goes on (TX-25)."""
        for ending in list(self._endings.values()):
            self._forget(ending.transaction)

    def _forget(self, transaction: Transaction) -> None:
        steps = self._endings.pop(transaction.transactional_id).steps
        if steps is not None:
            steps.end()

    def _write_after(self, delay_ms: int, ending: _Ending, now: Instant) -> None:
        ending.steps = ProcessSteps(self._shard, self._write(ending))
        ending.steps.begin(now.mono_ms + delay_ms)

    def _write(self, ending: _Ending) -> Steps:
        """Write markers that are missing, in steps; when none is, the transaction is complete."""
        transaction, passes = ending.transaction, self._shard.timers.passes
        pace, loading = passes.pace(MARKERS_PER_STEP), passes.pace(BATCHES_PER_STEP)
        for each in list(transaction.partitions):
            if pace.is_over():
                yield
            topic = self._shard.cluster.topics.get(each.topic)
            partition = None if topic is None else topic.partition(each.partition)
            try:
                log = None if partition is None else partition.used_log
                if log is not None and log.store is not None:
                    yield from before_append(log, loading)
                if partition is None or self._is_written(ending, partition, passes.now):
                    del transaction.partitions[each]
            except KafkaError as error:
                if error.code in _GIVES_UP:
                    self._forget(transaction)
                    return
        if transaction.partitions:
            self.try_again(transaction, passes.now)
        else:
            self._shard.handle(transaction, TransactionInput.MARKERS_WRITTEN, passes.now)

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
