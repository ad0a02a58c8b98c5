"""What holds the pending offsets of a group, and what ends that: data for programs, text for people (KIP-98, EX-4)."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from fakebroker.broker.core.dates import date_text
from fakebroker.broker.core.explain.transactions import next_abort_ms
from fakebroker.broker.core.transactions.states import ENDING, TransactionState
from fakebroker.protocol.records.offsets_topic import OFFSET

if TYPE_CHECKING:
    from fakebroker.broker.core.cluster import Cluster
    from fakebroker.broker.core.groups.group import Group
    from fakebroker.broker.core.transactions.transaction import Transaction
    from fakebroker.protocol.instant import Instant


HOLDING = (TransactionState.ONGOING, *ENDING)


class PendingExplanation(NamedTuple):
    """A pending offset: the transaction that holds it, and the latest end of the transaction."""

    topic: str
    partition: int
    offset: int | None  # None: a later commit replaced it; the partition is unstable all the same (OF-9)
    producer_id: int
    transactional_id: str | None  # None: no coordinator knows an open transaction of the producer
    state: str  # of the transactional id, "Dead" without one
    due_ms: int | None  # when the transaction is overdue; None while it does not time out
    pass_ms: int | None  # the look at which its coordinator aborts it then

    def __str__(self) -> str:
        what = "an offset replaced by a later commit" if self.offset is None else f"offset {self.offset}"
        return f"{self.topic}-{self.partition}: {what} is pending: {self._end()}"

    def _end(self) -> str:
        if self.transactional_id is None:
            return f"no coordinator has an open transaction of producer {self.producer_id}: only a marker ends it"
        held = f"transaction {self.transactional_id} (producer {self.producer_id}) is {self.state}"
        if self.pass_ms is not None:
            return f"{held}; aborted {date_text(self.pass_ms)} unless it ends before (TX-23)"
        return f"{held}, the marker is on its way"


def explain_pending(cluster: "Cluster", group: "Group", now: "Instant") -> Iterator[PendingExplanation]:
    """Every pending offset of a group, oldest transaction first."""
    if not group.offsets.pending:
        return
    holders = {each.producer.id: each for each in cluster.transactions(now) if each.state in HOLDING}
    for producer_id, partition, stored in group.offsets.pending.each():
        transaction = holders.get(producer_id)
        due_ms = None if transaction is None else transaction.due_ms
        yield PendingExplanation(
            partition.topic,
            partition.partition,
            None if stored is None else stored[OFFSET],
            producer_id,
            None if transaction is None else transaction.transactional_id,
            _state_of(transaction),
            due_ms,
            None if transaction is None else next_abort_ms(cluster, transaction, now),
        )


def _state_of(transaction: "Transaction | None") -> str:
    return (TransactionState.DEAD if transaction is None else transaction.state).kafka_name
