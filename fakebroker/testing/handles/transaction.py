"""A transactional id as a test sees it: its transaction, how it ends, aborting it, and waiting for it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from fakebroker.broker.core.events import TransactionTransition
from fakebroker.broker.core.explain.transactions import TransactionExplanation, explain, shard_of
from fakebroker.broker.core.transactions.states import ENDING, TransactionState
from fakebroker.protocol.arguments.types import Count, TimeoutS
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.offsets_topic import TopicPartition
from fakebroker.testing.handles.finding_transactions import find_transaction
from fakebroker.testing.handles.handle import WAIT_S, Handle
from fakebroker.testing.literals import TransactionState as TransactionStateName

if TYPE_CHECKING:
    from fakebroker.broker.core.cluster import Cluster
    from fakebroker.broker.core.transactions.transaction import Transaction
    from fakebroker.testing.handles.access import EngineAccess

T = TypeVar("T")
LAST_TRANSITIONS = 5
STATE_NAMES = tuple(state.kafka_name for state in TransactionState if state is not TransactionState.PREPARE_EPOCH_FENCE)
"""Those that a transactional id may be seen in: Kafka has a name more, and never comes to that state."""


class TransactionHandle(Handle):
    """A transactional id with its current or last transaction; an unknown id is "Dead"."""

    def __init__(self, access: "EngineAccess", transactional_id: str) -> None:
        super().__init__(access)
        self.transactional_id = transactional_id

    def __repr__(self) -> str:
        return f"<transaction {self.transactional_id}>"

    @property
    def exists(self) -> bool:
        """Whether the transactional id is known."""
        return self._ask(lambda _: True, False)

    @property
    def state(self) -> str:
        """ "Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort" or "Dead"."""
        return self._with_cluster(lambda cluster, now: _state_name(self._transaction(cluster, now)))

    @property
    def producer_id(self) -> int:
        """The id of the current producer, -1 for an unknown transactional id."""
        return self._ask(lambda transaction: transaction.producer.id, -1)

    @property
    def producer_epoch(self) -> int:
        """The epoch of the current producer: lower epochs are fenced."""
        return self._ask(lambda transaction: transaction.producer.epoch, -1)

    @property
    def partitions(self) -> list[TopicPartition]:
        """The partitions of the transaction in the order in which they were added; none once it has ended.

        While it is completing, those without a marker yet. Partitions of `__consumer_offsets` stand for offsets of
        groups.
        """
        return self._ask(lambda transaction: list(transaction.partitions), [])

    @property
    def timeout_ms(self) -> int:
        """The transaction timeout set by its producer; -1 for an unknown id."""
        return self._ask(lambda transaction: transaction.timeout_ms, -1)

    @property
    def transaction_protocol(self) -> int:
        """The transaction protocol of the last request: 2 is that of KIP-890, 1 the older one."""
        return self._ask(lambda transaction: 2 if transaction.is_tv2 else 1, 1)

    @property
    def start_ms(self) -> int:
        """The start time of the current or last transaction; -1 if there was none since InitProducerId."""
        return self._ask(lambda transaction: transaction.start_ms, -1)

    @property
    def last_update_ms(self) -> int:
        """The time of the last change of its stored state; -1 for an unknown id."""
        return self._ask(lambda transaction: transaction.last_update_ms, -1)

    @property
    def due_ms(self) -> int | None:
        """The time of day after which an Ongoing transaction is aborted by the next check (TX-23)."""
        return self._ask(lambda transaction: transaction.due_ms, None)

    def explain(self) -> TransactionExplanation:
        """What happens next without further requests: when it is aborted, what it waits for, when it expires.

        The result can be printed, or its fields read. Raises KafkaError while it has no coordinator.
        """
        return self._with_cluster(lambda cluster, now: explain(cluster, self.transactional_id, now))

    @property
    def transitions(self) -> list[TransactionTransition]:
        """Its state changes with their reasons, oldest first, as far as the journal reaches back."""
        return self._access._call(lambda: [event for _, event in self._recorded_transitions()])

    def abort(self, reason: str = "aborted by a test") -> None:
        """Abort the transaction now, as if its timeout had passed.

        The producer's epoch is raised first, which fences the producer (TX-23). `reason` appears in the transition.
        Raises KafkaError: TRANSACTIONAL_ID_NOT_FOUND, INVALID_TXN_STATE if no transaction is open,
        CONCURRENT_TRANSACTIONS while it is completing, and the error of a loading or missing coordinator.
        """
        self._with_cluster(lambda cluster, now: self._abort(cluster, now, reason))

    def wait(
        self, state: TransactionStateName | None = None, *, partitions: Count | None = None,
        epoch: Count | None = None, timeout_s: TimeoutS = WAIT_S,
    ) -> Any:  # fmt: skip
        """Wait until the transaction matches all given arguments.

        In `state`, with this number of `partitions`, with a producer of this `epoch` or a later one. Returns this
        handle (AsyncFakeBroker: an awaitable of it). Raises InvalidArgument for an unknown state and for negative
        numbers, and WaitTimeout, which describes the transaction and its last transitions.
        """
        wanted = _Wanted(state, partitions, epoch)

        def probe() -> "TransactionHandle | None":
            return self if wanted.holds(self._transaction_now()) else None

        def failure() -> str:
            seen = "\n".join(_seen(self._transaction_now(), [event for _, event in self._recorded_transitions()]))
            return f"waited {timeout_s:g} s for transaction {self.transactional_id} to be {wanted}; it is {seen}"

        return self._access.wait(probe, timeout_s, failure)

    # -- on the engine's thread ----------------------------------------------------------------------------------------

    def _abort(self, cluster: "Cluster", now: Instant, reason: str) -> None:
        shard = shard_of(cluster, self.transactional_id, now)
        transaction = None if shard is None else shard.transaction(self.transactional_id)
        if shard is None or transaction is None:
            text = f"the transactional id {self.transactional_id!r} is unknown to every coordinator"
            raise KafkaError(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, text)
        if not shard.abort(self.transactional_id, reason, now):
            is_ongoing = transaction.state is TransactionState.ONGOING
            text = f"transaction {self.transactional_id!r} is {transaction.state.kafka_name}"
            if is_ongoing or transaction.state in ENDING:
                raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS, text)
            raise KafkaError(ErrorCode.INVALID_TXN_STATE, f"{text}, so there is nothing to abort")
        self._access._engine.drain()

    def _transaction_now(self) -> "Transaction | None":
        engine = self._access._engine
        return self._transaction(engine.cluster, engine.now)

    def _transaction(self, cluster: "Cluster", now: Instant) -> "Transaction | None":
        return find_transaction(cluster, self.transactional_id, now)

    def _ask(self, question: Callable[["Transaction"], T], otherwise: T) -> T:
        def look(cluster: "Cluster", now: Instant) -> T:
            transaction = self._transaction(cluster, now)
            return otherwise if transaction is None else question(transaction)

        return self._with_cluster(look)

    def _recorded_transitions(self) -> list[tuple[int, TransactionTransition]]:
        """Its transitions, each with its number in the journal."""
        return [
            (each.seq, each.event)
            for each in self._access._engine.journal.events(TransactionTransition)
            if isinstance(each.event, TransactionTransition) and each.event.transactional_id == self.transactional_id
        ]


class _Wanted(NamedTuple):
    """The condition of a wait; what is None does not matter."""

    state: str | None
    partitions: int | None
    epoch: int | None

    def holds(self, transaction: "Transaction | None") -> bool:
        """Whether the transaction is as wanted."""
        count = 0 if transaction is None else len(transaction.partitions)
        epoch = -1 if transaction is None else transaction.producer.epoch
        return (
            (self.state is None or self.state == _state_name(transaction))
            and (self.partitions is None or self.partitions == count)
            and (self.epoch is None or epoch >= self.epoch)
        )

    def __str__(self) -> str:
        parts = [self.state] if self.state is not None else []
        parts += [f"with {_partitions_text(self.partitions)}"] if self.partitions is not None else []
        parts += [f"with epoch {self.epoch} or later"] if self.epoch is not None else []
        return " ".join(parts) or "there"


def _state_name(transaction: "Transaction | None") -> str:
    """Its state; a transactional id that is not known is Dead."""
    return (TransactionState.DEAD if transaction is None else transaction.state).kafka_name


def _seen(transaction: "Transaction | None", transitions: list[TransactionTransition]) -> list[str]:
    """What the transaction is, line by line, the first without indent."""
    if transaction is None:
        lines = ["Dead: unknown to every coordinator"]
    else:
        producer = f"producer {transaction.producer.id} with epoch {transaction.producer.epoch}"
        lines = [f"{transaction.state.kafka_name} with {_partitions_text(len(transaction.partitions))}, {producer}"]
        lines += [f"  partition {each}" for each in transaction.partitions]
    lines += [
        f"  {t.before} -> {t.after}, epoch {t.producer_epoch}: {t.reason}" for t in transitions[-LAST_TRANSITIONS:]
    ]
    return lines


def _partitions_text(count: int) -> str:
    return "1 partition" if count == 1 else f"{count} partitions"
