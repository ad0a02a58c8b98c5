"""What becomes of transactions and transactional ids by time: overdue ones are aborted, idle ids forgotten.

Times of day are compared, so moving the clock does it (TX-23, TX-24). Kafka: `TransactionCoordinator.startup`,
`TransactionStateManager.enableTransactionalIdExpiration`.
"""

from typing import TYPE_CHECKING

from fakebroker.broker.core.coordinator.runtime.passes import Passes, PassGrid
from fakebroker.broker.core.transactions.records import ForgottenIds, in_batches
from fakebroker.broker.core.transactions.states import ENDING, TransactionInput, TransactionState
from fakebroker.broker.core.transactions.transaction import Transaction
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.core.transactions.shard import TransactionShard


class Timeouts:
    """Aborts transactions of a shard that are open for longer than their timeout, at the next pass (TX-23)."""

    def __init__(self, shard: "TransactionShard", since_ms: int) -> None:
        interval_ms = shard.settings.get_int("transaction.abort.timed.out.transaction.cleanup.interval.ms")
        self._shard = shard
        self.grid = PassGrid(since_ms, interval_ms)
        self.passes = Passes(self.grid, shard.timers.wall, self._run, shard)

    def changed(self, transaction: Transaction, now: Instant) -> None:
        """A transaction began or went on: have a pass when it is overdue."""
        due_ms = transaction.due_ms
        if due_ms is not None:
            self.passes.look_at(due_ms, now.wall_ms)

    def abort_ms(self, transaction: Transaction, now: Instant) -> int | None:
        """When an open transaction will be aborted, wall time, if nothing happens until then; else None."""
        due_ms = transaction.due_ms
        return None if due_ms is None else self.grid.next_ms(due_ms, now.wall_ms)

    def _run(self, now: Instant) -> None:
        for transaction in list(self._shard):
            due_ms = transaction.due_ms
            if due_ms is not None and due_ms <= now.wall_ms and transaction.pending is None:
                reason = f"open longer than its timeout of {transaction.timeout_ms} ms"
                self._shard.handle(transaction, TransactionInput.OVERDUE, reason, now)
        for transaction in self._shard:
            self.changed(transaction, now)


class Expiry:
    """Forgets transactional ids of a shard that have been idle for `transactional.id.expiration.ms` (TX-24)."""

    def __init__(self, shard: "TransactionShard", since_ms: int) -> None:
        settings = shard.settings
        interval_ms = settings.get_int("transaction.remove.expired.transaction.cleanup.interval.ms")
        self._shard = shard
        self._expiration_ms = settings.get_int("transactional.id.expiration.ms")
        self.grid = PassGrid(since_ms, interval_ms)
        self.passes = Passes(self.grid, shard.timers.wall, self._run, shard)

    def changed(self, transaction: Transaction, now: Instant) -> None:
        """A transaction ended, or an id was initialized: have a pass when it has been idle for long enough."""
        due_ms = self.due_ms(transaction)
        if due_ms is not None:
            self.passes.look_at(due_ms, now.wall_ms)

    def due_ms(self, transaction: Transaction) -> int | None:
        """From when on the id may be forgotten, wall time; None while a transaction is open or ending."""
        if transaction.state is TransactionState.ONGOING or transaction.state in ENDING:
            return None
        return transaction.last_update_ms + self._expiration_ms

    def _run(self, now: Instant) -> None:
        expired = []
        for transaction in self._shard:
            due_ms = self.due_ms(transaction)
            if due_ms is not None and due_ms <= now.wall_ms and transaction.pending is None:
                expired.append(transaction)
        names = [each.transactional_id for each in expired]
        for batch in in_batches(names, self._shard.log.config.max_message_bytes):
            self._forget([self._shard.transactions[each] for each in batch], now)
        for transaction in self._shard:
            self.changed(transaction, now)

    def _forget(self, transactions: list[Transaction], now: Instant) -> None:
        """Write one batch of tombstones, and forget the ids once replicas have it."""
        for each in transactions:
            each.pending = TransactionState.DEAD

        def written(code: ErrorCode, _now: Instant) -> None:
            for each in transactions:
                each.pending = None
                if not code:
                    self._shard.forget(each, "idle for transactional.id.expiration.ms")

        self._shard.append(ForgottenIds([each.transactional_id for each in transactions]), written, now)
