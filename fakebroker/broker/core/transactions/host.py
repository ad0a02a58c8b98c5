"""What transactions need of their surroundings: their shard, its broker and the cluster."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from fakebroker.broker.core.transactions.transaction_markers import MarkerCluster, MarkerNode
from fakebroker.broker.release import Behaviours
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.core.transactions.transaction import Transaction
    from fakebroker.protocol.records.transaction_log import TransactionValue


class TransactionCluster(MarkerCluster, Protocol):
    """The cluster, as transactions see it."""

    def new_producer_id(self) -> int:
        """The next producer id (KIP-98, PI)."""


class TransactionNode(MarkerNode, Protocol):
    """A broker, as its transaction coordinator sees it."""

    @property
    def cluster(self) -> TransactionCluster: ...


class EndingTransactions(Protocol):
    """The transactions of one shard that are ending. `Completions` implements it."""

    def begin(self, transaction: "Transaction", now: Instant) -> None:
        """The end of the transaction is stored: write its markers, as soon as the client has its answer."""

    def try_again(self, transaction: "Transaction", now: Instant) -> None:
        """Something is missing: go on in a while."""

    def ended(self, transaction: "Transaction") -> None:
        """The transaction is complete."""


class TransactionHost(Protocol):
    """What the functions of the table (`table.py`) need of the shard. `TransactionShard` implements it."""

    @property
    def behaviours(self) -> Behaviours: ...

    @property
    def cluster(self) -> TransactionCluster: ...

    @property
    def completions(self) -> EndingTransactions: ...

    def write(
        self,
        transaction: "Transaction",
        value: "TransactionValue",
        last_epoch: int,
        reason: str,
        done: Callable[[ErrorCode, Instant], None],
        now: Instant,
    ) -> None:
        """Append the record of a transaction, which becomes what it says when replicas have it.

        `done` is called then with NONE, or with the error after which everything stays as it was.
        """
