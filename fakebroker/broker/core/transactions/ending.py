"""How a transaction ends: the decision is stored, markers follow, then it is complete (TX-2, TX-12, TX-15).

Kafka: `TransactionCoordinator.endTransaction`, `TransactionMetadata`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from fakebroker.broker.core.transactions.producer import NO_PRODUCER
from fakebroker.broker.core.transactions.requests import EndRequest
from fakebroker.broker.core.transactions.states import TransactionState
from fakebroker.broker.core.transactions.transaction import Transaction
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.core.transactions.host import TransactionHost

_State = TransactionState


# -- EndTxn ------------------------------------------------------------------------------------------------------------


def prepare_commit(shard: "TransactionHost", transaction: Transaction, request: EndRequest, now: Instant) -> None:
    """Decide that the open transaction is committed."""
    _prepare(shard, transaction, request, _State.PREPARE_COMMIT, transaction.start_ms, "EndTxn commit", now)


def prepare_abort(shard: "TransactionHost", transaction: Transaction, request: EndRequest, now: Instant) -> None:
    """Decide that the open transaction is aborted."""
    _prepare(shard, transaction, request, _State.PREPARE_ABORT, transaction.start_ms, "EndTxn abort", now)


def abort_nothing(shard: "TransactionHost", transaction: Transaction, request: EndRequest, now: Instant) -> None:
    """Abort with protocol 2 where nothing was begun: it raises the epoch all the same (TX-21).

    The producer may have sent data that arrives later, with the epoch that is fenced by this.
    """
    reason = "EndTxn abort of an empty transaction"
    _prepare(shard, transaction, request, _State.PREPARE_ABORT, now.wall_ms, reason, now)


def repeated(_shard: "TransactionHost", transaction: Transaction, request: EndRequest, _now: Instant) -> None:
    """It has ended that way already: the same answer as then."""
    request.answer(ErrorCode.NONE, transaction.producer)


def ending(_shard: "TransactionHost", _transaction: Transaction, request: EndRequest, _now: Instant) -> None:
    """Markers are on their way, and until they are all there Kafka does not look at what is asked (TX-2)."""
    request.answer(ErrorCode.CONCURRENT_TRANSACTIONS, NO_PRODUCER)


def invalid(_shard: "TransactionHost", _transaction: Transaction, request: EndRequest, _now: Instant) -> None:
    """There is nothing to end, or it has ended the other way."""
    request.answer(ErrorCode.INVALID_TXN_STATE, NO_PRODUCER)


def fenced(_shard: "TransactionHost", _transaction: Transaction, request: EndRequest, _now: Instant) -> None:
    """In this state the other of the two epochs is expected (TX-21)."""
    request.answer(ErrorCode.PRODUCER_FENCED, NO_PRODUCER)


def _prepare(
    shard: "TransactionHost",
    transaction: Transaction,
    request: EndRequest,
    state: TransactionState,
    start_ms: int,
    reason: str,
    now: Instant,
) -> None:
    producer, last_epoch, next_producer_id = transaction.producer, transaction.last_epoch, -1
    if request.is_tv2:  # TX-12: the markers and the next transaction have the epoch after this one
        if producer.is_exhausted:  # TX-15: there is none that may be handed out
            next_producer_id = shard.cluster.new_producer_id()
        last_epoch, producer = producer.epoch, producer.with_next_epoch
    value = transaction.to_value(
        producer_epoch=producer.epoch,
        status=state,
        start_ms=start_ms,
        last_update_ms=now.wall_ms,
        next_producer_id=next_producer_id,
        client_transaction_version=2 if request.is_tv2 else 0,
    )

    def written(code: ErrorCode, now: Instant) -> None:
        if code:
            request.answer(code, NO_PRODUCER)
        else:
            request.answer(code, transaction.following_producer)
            shard.completions.begin(transaction, now)

    shard.write(transaction, value, last_epoch, reason, written, now)


# -- without the producer ----------------------------------------------------------------------------------------------


def abort_overdue(shard: "TransactionHost", transaction: Transaction, reason: str, now: Instant) -> None:
    """Abort an open transaction, and fence its producer (TX-23). `reason` is for the journal."""
    abort_and_fence(shard, transaction, reason, lambda _code: None, now)


def abort_and_fence(
    shard: "TransactionHost",
    transaction: Transaction,
    reason: str,
    answer: Callable[[ErrorCode], None],
    now: Instant,
) -> None:
    """Abort an open transaction with the next epoch, so that its producer is fenced.

    The broker's protocol is used, whatever the producer's is. With protocol 2 the producer may come back: the epoch
    that it has counts as the one before, as if it had ended the transaction itself (TX-23). With protocol 1 the epoch
    is raised only once, also if the record did not reach the replicas: no producer has seen the raised one.
    """
    producer, is_tv2 = transaction.producer, shard.behaviours.transaction_version >= 2
    raised = producer if transaction.failed_to_fence and not is_tv2 else producer.with_next_epoch
    value = transaction.to_value(
        producer_epoch=raised.epoch,
        status=_State.PREPARE_ABORT,
        last_update_ms=now.wall_ms,
        client_transaction_version=shard.behaviours.transaction_version,
    )

    def written(code: ErrorCode, now: Instant) -> None:
        if code:
            transaction.failed_to_fence = True
            transaction.producer = producer if is_tv2 else raised
        answer(code)
        if not code:
            shard.completions.begin(transaction, now)

    shard.write(transaction, value, producer.epoch if is_tv2 else -1, reason, written, now)


def complete(shard: "TransactionHost", transaction: Transaction, now: Instant) -> None:
    """All markers are written: the transaction is over (TX-2). With the last epoch, the next id comes into force."""
    committed = transaction.state is _State.PREPARE_COMMIT
    producer = transaction.following_producer
    value = transaction.to_value(
        producer_id=producer.id,
        producer_epoch=producer.epoch,
        status=_State.COMPLETE_COMMIT if committed else _State.COMPLETE_ABORT,
        partitions=(),
        last_update_ms=now.wall_ms,
        next_producer_id=-1,
    )

    def written(code: ErrorCode, now: Instant) -> None:
        transaction.failed_to_fence = False
        if code:
            shard.completions.try_again(transaction, now)
        else:
            shard.completions.ended(transaction)

    shard.write(transaction, value, transaction.last_epoch, "all markers were written", written, now)
