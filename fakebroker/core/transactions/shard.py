"""One partition of `__transaction_state` on the node that leads it: its transactional ids, and the log they come from."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fakebroker.core.transactions.producer import Producer
from fakebroker.core.transactions.transaction import Transaction
from fakebroker.errors import ErrorCode
from fakebroker.instant import Instant
from fakebroker.records.offsets_topic import TopicPartition

if TYPE_CHECKING:
    from fakebroker.core.node import Node
    from fakebroker.core.topics import Partition


class TransactionShard:
    """The transactional ids of one partition.

    Each `answer` is called once: usually before the method returns, later when a write waits for replicas.
    """

    def __init__(self, node: "Node", partition: "Partition", since: Instant) -> None:
        self.node = node
        self.partition = partition
        self.transactions: dict[str, Transaction] = {}
        self.unavailable_code: ErrorCode | None = None
        self._since = since

    def transaction(self, transactional_id: str) -> Transaction | None:
        """The transactional id and its transaction, or None if it is not known."""
        return self.transactions.get(transactional_id)

    def init_producer_id(
        self,
        transactional_id: str,
        timeout_ms: int,
        expected: Producer | None,
        answer: Callable[[ErrorCode, Producer], None],
        now: Instant,
    ) -> None:
        """Give a producer its id and epoch, and fence those before it (PI-5 to PI-11).

        `expected` is the producer that the client says it is, None if it does not say (KIP-360). `answer` gets NONE
        and the producer, or the error and NO_PRODUCER: INVALID_TRANSACTION_TIMEOUT, PRODUCER_FENCED,
        CONCURRENT_TRANSACTIONS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR.
        """
        raise NotImplementedError

    def add_partitions(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: Sequence[TopicPartition],
        answer: Callable[[ErrorCode], None],
        now: Instant,
        *,
        is_tv2: bool,
    ) -> None:
        """Add partitions to the transaction, which begins with the first (TX-9). One code for all partitions."""
        raise NotImplementedError

    def verify_partitions(
        self, transactional_id: str, producer: Producer, partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        """Whether each partition is in the producer's transaction (TX-14): NONE, TRANSACTION_ABORTABLE, or an error."""
        raise NotImplementedError

    def end(
        self,
        transactional_id: str,
        producer: Producer,
        *,
        commit: bool,
        is_tv2: bool,
        answer: Callable[[ErrorCode, Producer], None],
        now: Instant,
    ) -> None:
        """End the transaction (TX-20 to TX-22). `answer` gets NONE and the producer of the next transaction."""
        raise NotImplementedError
