"""InitProducerId with a transactional id: the next epoch, or a new producer id (PI-7 to PI-11).

Kafka: `TransactionCoordinator.prepareInitProducerIdTransit`, `TransactionMetadata`.
"""

from typing import TYPE_CHECKING

from fakebroker.broker.core.transactions.ending import abort_and_fence
from fakebroker.broker.core.transactions.producer import NO_PRODUCER, Producer
from fakebroker.broker.core.transactions.requests import InitRequest
from fakebroker.broker.core.transactions.states import TransactionState
from fakebroker.broker.core.transactions.transaction import Transaction
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.core.transactions.host import TransactionHost

NO_EPOCH = -1


def is_known(transaction: Transaction, expected: Producer) -> bool:
    """Whether the producer that a client says it is may be this one; its epoch is looked at later.

    So it is before the first epoch was handed out, and for the id before the present one if its epochs are exhausted:
    then the client may not have received the answer that had the new id (PI-8, PI-11).
    """
    if transaction.producer.epoch == NO_EPOCH or expected.id == transaction.producer.id:
        return True
    return expected.id == transaction.previous_producer_id and expected.is_exhausted


def initialize(shard: "TransactionHost", transaction: Transaction, request: InitRequest, now: Instant) -> None:
    """Hand out the next epoch, or at the last one a new producer id (PI-7, PI-8, PI-11)."""
    try:
        producer, last_epoch = _next(shard, transaction, request.expected)
    except KafkaError as error:
        request.answer(error.code, NO_PRODUCER)
        return
    value = transaction.to_value(
        producer_id=producer.id,
        producer_epoch=producer.epoch,
        timeout_ms=request.timeout_ms,
        status=TransactionState.EMPTY,
        partitions=(),
        start_ms=-1,
        last_update_ms=now.wall_ms,
    )

    def written(code: ErrorCode, _now: Instant) -> None:
        request.answer(code, NO_PRODUCER if code else producer)

    shard.write(transaction, value, last_epoch, f"InitProducerId returned epoch {producer.epoch}", written, now)


def _next(shard: "TransactionHost", transaction: Transaction, expected: Producer | None) -> tuple[Producer, int]:
    """The producer to hand out, and the epoch that a repetition may carry, -1 for none.

    Raises KafkaError: PRODUCER_FENCED, and UNKNOWN_SERVER_ERROR where Kafka finds no epoch to hand out.
    """
    producer = transaction.producer
    if producer.is_exhausted:
        if expected is not None and expected.epoch != producer.epoch:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"producer id {producer.id} has no epochs left")
        return Producer(shard.cluster.new_producer_id(), 0), NO_EPOCH if expected is None else producer.epoch
    following = Producer(producer.id, producer.epoch + 1)
    if expected is None:
        return following, NO_EPOCH
    if producer.epoch in (NO_EPOCH, expected.epoch):
        return following, producer.epoch
    if expected.epoch == transaction.last_epoch:
        return producer, transaction.last_epoch
    raise KafkaError(
        ErrorCode.PRODUCER_FENCED,
        f"the request expects epoch {expected.epoch}, but the current epoch is {producer.epoch}",
    )


def fence(shard: "TransactionHost", transaction: Transaction, request: InitRequest, now: Instant) -> None:
    """End the open transaction first: the producer before is fenced, the new one has to come again (PI-10)."""

    def written(code: ErrorCode) -> None:
        request.answer(code or ErrorCode.CONCURRENT_TRANSACTIONS, NO_PRODUCER)

    abort_and_fence(shard, transaction, "a new producer sent InitProducerId", written, now)


def concurrent(_shard: "TransactionHost", _transaction: Transaction, request: InitRequest, _now: Instant) -> None:
    """The last transaction is not over yet (PI-10)."""
    request.answer(ErrorCode.CONCURRENT_TRANSACTIONS, NO_PRODUCER)
