"""Partitions are added to a transaction, which begins with the first (TX-9, TX-11)."""

from typing import TYPE_CHECKING

from fakebroker.broker.core.transactions.requests import AddRequest
from fakebroker.broker.core.transactions.states import TransactionState
from fakebroker.broker.core.transactions.transaction import Transaction
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.core.transactions.host import TransactionHost


def begin(shard: "TransactionHost", transaction: Transaction, request: AddRequest, now: Instant) -> None:
    """The first partitions: the transaction begins now."""
    _add(shard, transaction, request, now.wall_ms, now)


def add(shard: "TransactionHost", transaction: Transaction, request: AddRequest, now: Instant) -> None:
    """More partitions in an open transaction."""
    _add(shard, transaction, request, transaction.start_ms, now)


def refuse(_shard: "TransactionHost", _transaction: Transaction, request: AddRequest, _now: Instant) -> None:
    """The last transaction is not over yet."""
    request.answer(ErrorCode.CONCURRENT_TRANSACTIONS)


def _add(shard: "TransactionHost", transaction: Transaction, request: AddRequest, start_ms: int, now: Instant) -> None:
    partitions = dict.fromkeys((*transaction.partitions, *request.partitions))
    value = transaction.to_value(
        status=TransactionState.ONGOING,
        partitions=tuple(partitions),
        start_ms=start_ms,
        last_update_ms=now.wall_ms,
        client_transaction_version=2 if request.is_tv2 else 0,
    )

    def written(code: ErrorCode, _now: Instant) -> None:
        request.answer(code)

    shard.write(transaction, value, transaction.last_epoch, "partitions were added", written, now)
