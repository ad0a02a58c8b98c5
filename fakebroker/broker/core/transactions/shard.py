"""One partition of `__transaction_state` on the node that leads it: transactional ids, and the log they come from.

The log comes first: what is decided is appended, and comes into force when the replicas in sync have it, as it nearly
always does at once. A shard knows no API and no version. Kafka: `TransactionCoordinator`, `TransactionStateManager`.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from fakebroker.broker.core.coordinator.runtime.coordinator_shard import CoordinatorShard
from fakebroker.broker.core.events import TransactionTransition
from fakebroker.broker.core.transactions.completion import Completions
from fakebroker.broker.core.transactions.initialization import NO_EPOCH, is_known
from fakebroker.broker.core.transactions.producer import HIGHEST_EPOCH, NO_PRODUCER, Producer
from fakebroker.broker.core.transactions.records import TransactionRecord
from fakebroker.broker.core.transactions.requests import AddRequest, CodeAnswer, EndRequest, InitRequest, ProducerAnswer
from fakebroker.broker.core.transactions.states import ENDING, STATES, TransactionInput, TransactionState
from fakebroker.broker.core.transactions.table import HANDLERS
from fakebroker.broker.core.transactions.timeouts import Expiry, Timeouts
from fakebroker.broker.core.transactions.transaction import Transaction
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.offsets_topic import TopicPartition
from fakebroker.protocol.records.transaction_log import TransactionValue

if TYPE_CHECKING:
    from fakebroker.broker.core.logs.pending_batches import DeferredRecords
    from fakebroker.broker.core.topics import Partition
    from fakebroker.broker.core.transactions.host import TransactionCluster, TransactionNode

_In = TransactionInput


class TransactionShard(CoordinatorShard):
    """The transactional ids of one partition.

    Each `answer` is called once: usually before the method returns, later when a write waits for replicas.
    """

    write_timeout = "request.timeout.ms"
    node: "TransactionNode"
    cluster: "TransactionCluster"

    def __init__(self, node: "TransactionNode", partition: "Partition", since: Instant) -> None:
        """`since` is when the node became the coordinator: periodic passes run at whole intervals from there."""
        super().__init__(node, partition)
        self.transactions: dict[str, Transaction] = {}
        self.completions = Completions(self)
        self.timeouts = Timeouts(self, since.wall_ms)
        self.expiry = Expiry(self, since.wall_ms)
        self._latest: dict[str, int] = {}  # transactional id -> offset of its latest record, unless a tombstone

    def __iter__(self) -> Iterator[Transaction]:
        return iter(self.transactions.values())

    @property
    def coordinator_epoch(self) -> int:
        """The leader epoch of the partition, which markers carry: of two coordinators the later one counts (WM-3)."""
        return self.partition.seen_by(self.node.id).leader_epoch

    def transaction(self, transactional_id: str) -> Transaction | None:
        """The transactional id and its transaction, or None if it is not known."""
        return self.transactions.get(transactional_id)

    # -- requests ------------------------------------------------------------------------------------------------

    def init_producer_id(
        self,
        transactional_id: str,
        timeout_ms: int,
        expected: Producer | None,
        answer: ProducerAnswer,
        now: Instant,
    ) -> None:
        """Give a producer its id and epoch, and fence those before it (PI-7 to PI-11).

        `expected` is the producer that the client says it is, None if it does not say (KIP-360). The caller has
        checked the id and the timeout (PI-5). `answer` gets NONE and the producer, or the error and NO_PRODUCER:
        PRODUCER_FENCED, CONCURRENT_TRANSACTIONS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, UNKNOWN_SERVER_ERROR.
        """
        transaction = self.transactions.get(transactional_id)
        if transaction is None:
            transaction = self.transactions[transactional_id] = Transaction(transactional_id)
            transaction.producer = Producer(self.cluster.new_producer_id(), NO_EPOCH)
            transaction.timeout_ms, transaction.last_update_ms = timeout_ms, now.wall_ms
        if transaction.pending is not None:
            answer(ErrorCode.CONCURRENT_TRANSACTIONS, NO_PRODUCER)
        elif expected is not None and transaction.state not in ENDING and not is_known(transaction, expected):
            answer(ErrorCode.PRODUCER_FENCED, NO_PRODUCER)
        else:
            self.handle(transaction, _In.INIT_PRODUCER_ID, InitRequest(timeout_ms, expected, answer), now)

    def add_partitions(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: Sequence[TopicPartition],
        answer: CodeAnswer,
        now: Instant,
        *,
        is_tv2: bool,
    ) -> None:
        """Add partitions to the transaction, which begins with the first (TX-9); `is_tv2`: for a v12+ Produce or alike.

        `answer` gets one code for all partitions: NONE, INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED,
        CONCURRENT_TRANSACTIONS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, UNKNOWN_SERVER_ERROR.
        """
        transaction = self.transactions.get(transactional_id)
        code = self._error_for(transaction, producer, concurrent_first=self.behaviours.transaction_version >= 2)
        if code or transaction is None:
            answer(code)
        elif transaction.state is TransactionState.ONGOING and all(p in transaction.partitions for p in partitions):
            answer(ErrorCode.NONE)
        else:
            self.handle(transaction, _In.ADD_PARTITIONS, AddRequest(partitions, is_tv2, answer), now)

    def verify_partitions(
        self, transactional_id: str, producer: Producer, partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        """Whether each partition is in the producer's transaction: NONE, TRANSACTION_ABORTABLE if not (TX-14).

        Else for all INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED, or CONCURRENT_TRANSACTIONS while one is ending.
        """
        transaction = self.transactions.get(transactional_id)
        if transaction is None or transaction.producer.id != producer.id:
            return dict.fromkeys(partitions, ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        if transaction.producer.epoch != producer.epoch:
            return dict.fromkeys(partitions, ErrorCode.PRODUCER_FENCED)
        if transaction.state in ENDING:
            return dict.fromkeys(partitions, ErrorCode.CONCURRENT_TRANSACTIONS)
        known = transaction.partitions
        return {each: ErrorCode.NONE if each in known else ErrorCode.TRANSACTION_ABORTABLE for each in partitions}

    def end(
        self,
        transactional_id: str,
        producer: Producer,
        *,
        commit: bool,
        is_tv2: bool,
        answer: ProducerAnswer,
        now: Instant,
    ) -> None:
        """End the transaction (TX-20 to TX-22); `is_tv2`: by EndTxn v5+.

        `answer` gets NONE and the producer of the next transaction, once the decision is stored; or the error and
        NO_PRODUCER: INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED, CONCURRENT_TRANSACTIONS, INVALID_TXN_STATE,
        COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR.
        """
        transaction = self.transactions.get(transactional_id)
        if transaction is None:
            answer(ErrorCode.INVALID_PRODUCER_ID_MAPPING, NO_PRODUCER)
            return
        if is_tv2:
            code, is_earlier = self._tv2_epoch(transaction, producer)
            if is_earlier:
                asked = _In.COMMIT_EARLIER if commit else _In.ABORT_EARLIER
            else:
                asked = _In.COMMIT_CURRENT if commit else _In.ABORT_CURRENT
        else:
            if self._takes_later_epoch(transaction) and producer.epoch > transaction.producer.epoch:
                producer = Producer(producer.id, transaction.producer.epoch)
            code = self._error_for(transaction, producer, concurrent_first=False)
            asked = _In.COMMIT if commit else _In.ABORT
        if code:
            answer(code, NO_PRODUCER)
        else:
            self.handle(transaction, asked, EndRequest(is_tv2, answer), now)

    def abort(self, transactional_id: str, reason: str, now: Instant) -> bool:
        """Abort an open transaction and fence its producer, as when it is overdue. Returns whether there is one.

        `reason` is for the journal. Nothing is done while a write waits for replicas.
        """
        transaction = self.transactions.get(transactional_id)
        if transaction is None or transaction.state is not TransactionState.ONGOING or transaction.pending is not None:
            return False
        self.handle(transaction, _In.OVERDUE, reason, now)
        return True

    def _error_for(self, transaction: Transaction | None, producer: Producer, *, concurrent_first: bool) -> ErrorCode:
        """The error that the producer gets in every state alike, or NONE.

        With `concurrent_first` a write under way comes before the others, and while markers are on their way nothing of
        the producer is looked at: it may know the id already that comes into force next (TX-15).
        """
        if transaction is None:
            return ErrorCode.INVALID_PRODUCER_ID_MAPPING
        if concurrent_first:
            if transaction.pending is not None:
                return ErrorCode.CONCURRENT_TRANSACTIONS
            if transaction.state in ENDING:
                return ErrorCode.NONE
        if transaction.producer.id != producer.id:
            return ErrorCode.INVALID_PRODUCER_ID_MAPPING
        if transaction.producer.epoch != producer.epoch:
            return ErrorCode.PRODUCER_FENCED
        return ErrorCode.NONE if transaction.pending is None else ErrorCode.CONCURRENT_TRANSACTIONS

    def _takes_later_epoch(self, transaction: Transaction) -> bool:
        """Whether EndTxn TV1 of a later epoch counts; with a transaction to end Kafka 2.1.1 then goes wrong (TX-20)."""
        return self.behaviours.end_takes_later_epochs and transaction.state is not TransactionState.ONGOING

    @staticmethod
    def _tv2_epoch(transaction: Transaction, producer: Producer) -> tuple[ErrorCode, bool]:
        """The error that an EndTxn v5 gets in every state alike; and whether its epoch is the one before (TX-21).

        It is, too, if it is the last epoch of the id before, which an earlier EndTxn has replaced (TX-15).
        """
        stored = transaction.producer
        was_replaced = (
            transaction.previous_producer_id == producer.id and producer.epoch == HIGHEST_EPOCH - 1 and not stored.epoch
        )
        if transaction.pending is not None:
            return ErrorCode.CONCURRENT_TRANSACTIONS, False
        if transaction.state in ENDING:
            return ErrorCode.NONE, False
        if stored.id != producer.id and not was_replaced:
            return ErrorCode.INVALID_PRODUCER_ID_MAPPING, False
        if was_replaced or stored.epoch == producer.epoch + 1:
            return ErrorCode.NONE, True
        return ErrorCode.NONE if stored.epoch == producer.epoch else ErrorCode.PRODUCER_FENCED, False

    def handle(self, transaction: Transaction, what: TransactionInput, *rest: Any) -> None:
        """Do what the table says for this input in the present state; `rest` depends on the input, the time is last."""
        HANDLERS[transaction.state][what](self, transaction, *rest)

    # -- writing -------------------------------------------------------------------------------------------------

    def write(
        self,
        transaction: Transaction,
        value: TransactionValue,
        last_epoch: int,
        reason: str,
        done: Callable[[ErrorCode, Instant], None],
        now: Instant,
    ) -> None:
        """Append the record of a transaction, which becomes what it says when replicas have it.

        `done` is called then with NONE, or with the error after which everything stays as it was:
        COORDINATOR_NOT_AVAILABLE if replicas are missing or too slow, UNKNOWN_SERVER_ERROR if the record is too large,
        NOT_COORDINATOR. `reason` is one clause for the journal.
        """
        version, log = self.behaviours.transaction_value_version, self.log
        record = TransactionRecord(transaction.transactional_id, value, version, log.log_end_offset, self._latest)
        if record.is_larger_than(log.config.max_message_bytes):
            done(ErrorCode.UNKNOWN_SERVER_ERROR, now)
            return
        transaction.pending = STATES[value.status]

        def appended(code: ErrorCode, now: Instant) -> None:
            transaction.pending = None
            if not code:
                transaction.last_epoch = last_epoch
                self._apply(transaction, value, reason, now)
            done(code, now)

        self.append(record, appended, now)

    def append(self, records: "DeferredRecords", done: Callable[[ErrorCode, Instant], None], now: Instant) -> None:
        """Append records, and call `done` when the replicas in sync have them, or with the error (see `write`)."""
        if len(self.partition.seen_by(self.node.id).isr) < self.partition.min_isr:
            done(ErrorCode.COORDINATOR_NOT_AVAILABLE, now)
            return
        log = self.log
        if isinstance(records, TransactionRecord):
            self._latest[records.transactional_id] = records.offset
        log.append_records(records, now)
        if log.high_watermark >= log.log_end_offset:
            done(ErrorCode.NONE, now)
        else:
            log.materialize_pending()  # a record may be lost yet, so nothing before it may be dropped for it
            self.wait_for_replicas(done, now)

    def _apply(self, transaction: Transaction, value: TransactionValue, reason: str, now: Instant) -> None:
        before, producer, start_ms = transaction.state, transaction.producer, transaction.start_ms
        transaction.replay(value)
        if transaction.state is TransactionState.EMPTY and not self.behaviours.empty_transactions_never_began:
            transaction.start_ms = start_ms  # the record has none, so it is forgotten at the next load
        if transaction.state is not before or transaction.producer != producer:
            self._emit(transaction, before, transaction.state, reason)
        self.look_at(transaction, now)

    def _emit(self, transaction: Transaction, before: TransactionState, after: TransactionState, reason: str) -> None:
        event = TransactionTransition(
            transaction.transactional_id,
            before.kafka_name,
            after.kafka_name,
            *transaction.producer,
            len(transaction.partitions),
            reason,
        )
        self.cluster.outbox.append(event)

    # -- what is there -------------------------------------------------------------------------------------------

    def look_at(self, transaction: Transaction, now: Instant) -> None:
        """Let the passes look at the transaction when its time has come: it has changed, or was loaded."""
        self.timeouts.changed(transaction, now)
        self.expiry.changed(transaction, now)

    def adopt(self, transaction: Transaction, now: Instant) -> None:
        """Add a transaction that a load found in the log; one that is ending goes on (TX-25)."""
        self.transactions[transaction.transactional_id] = transaction
        if transaction.state in ENDING:
            self.completions.begin(transaction, now)
        self.look_at(transaction, now)

    def forget(self, transaction: Transaction, reason: str) -> None:
        """Remove a transactional id, after its tombstone. `reason` is for the journal."""
        del self.transactions[transaction.transactional_id]
        self._latest.pop(transaction.transactional_id, None)
        self._emit(transaction, transaction.state, TransactionState.DEAD, reason)

    def unload(self, now: Instant, reason: str) -> None:  # noqa: ARG002
        """Forget everything, because another broker coordinates the partition now, or as `reason` says.

        Requests that wait for replicas are answered with NOT_COORDINATOR, timers are disarmed.
        """
        self.end_waits(now)
        self.completions.stop()
        self.timeouts.passes.stop()
        self.expiry.passes.stop()
        self.transactions.clear()

    def wall_time_went_back(self, by_ms: int, now: Instant) -> None:
        """The time of day was set back by `by_ms` to `now`: the next passes come as soon as they would have come."""
        self.timeouts.passes.wall_time_went_back(by_ms, now.wall_ms)
        self.expiry.passes.wall_time_went_back(by_ms, now.wall_ms)
