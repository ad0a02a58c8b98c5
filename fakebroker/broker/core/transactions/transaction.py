"""A transactional id and its present or last transaction. Kafka: `TransactionMetadata`."""

from typing import Any

from fakebroker.broker.core.transactions.producer import NO_PRODUCER, Producer
from fakebroker.broker.core.transactions.states import STATES, TransactionState
from fakebroker.protocol.records.offsets_topic import TopicPartition
from fakebroker.protocol.records.transaction_log import TransactionValue


class Transaction:
    """What the coordinator knows of a transactional id: the value of its latest record, and what is not in records.

    `last_epoch` is the epoch before the present one, which a repeated request may still carry, -1 for none (PI-8).
    `previous_producer_id` was in force when the record was written, `next_producer_id` comes into force when the
    transaction has ended (TX-15), -1 for none. `partitions` are those of the transaction, in the order in which they
    were added; one goes when its marker is written. `start_ms` and `last_update_ms` are times of day, -1 for none.
    `client_transaction_version` is 2 for a producer that uses transaction protocol 2 (KIP-890), else 0.
    `pending` is the state that is being written and waits for replicas; None nearly always.
    """

    __slots__ = (
        "client_transaction_version",
        "failed_to_fence",
        "last_epoch",
        "last_update_ms",
        "next_producer_id",
        "partitions",
        "pending",
        "previous_producer_id",
        "producer",
        "start_ms",
        "state",
        "timeout_ms",
        "transactional_id",
    )

    def __init__(self, transactional_id: str) -> None:
        self.transactional_id = transactional_id
        self.producer: Producer = NO_PRODUCER
        self.last_epoch = -1
        self.previous_producer_id = -1
        self.next_producer_id = -1
        self.timeout_ms = 0
        self.state = TransactionState.EMPTY
        self.partitions: dict[TopicPartition, None] = {}
        self.start_ms = -1
        self.last_update_ms = -1
        self.client_transaction_version = 0
        self.pending: TransactionState | None = None
        self.failed_to_fence = False  # the epoch was raised already, only its record did not reach the replicas

    @property
    def is_tv2(self) -> bool:
        """Whether its last request spoke transaction protocol 2, so that its markers follow that (WM-2)."""
        return self.client_transaction_version >= 2

    @property
    def following_producer(self) -> Producer:
        """The producer of the next transaction, once this one has ended (TX-12, TX-15)."""
        return self.producer if self.next_producer_id == -1 else Producer(self.next_producer_id, 0)

    @property
    def due_ms(self) -> int | None:
        """From when on an Ongoing transaction is overdue, wall time (TX-23); None in other states."""
        return self.start_ms + self.timeout_ms + 1 if self.state is TransactionState.ONGOING else None

    def to_value(self, **changes: Any) -> TransactionValue:
        """What is stored of it (TS-3), with some fields of the record changed."""
        fields: dict[str, Any] = {
            "producer_id": self.producer.id,
            "producer_epoch": self.producer.epoch,
            "timeout_ms": self.timeout_ms,
            "status": self.state,
            "partitions": tuple(self.partitions),
            "last_update_ms": self.last_update_ms,
            "start_ms": self.start_ms,
            "previous_producer_id": self.producer.id,
            "next_producer_id": self.next_producer_id,
            "client_transaction_version": self.client_transaction_version,
        }
        return TransactionValue(**fields | changes)

    def replay(self, value: TransactionValue) -> None:
        """Become what a record says. `last_epoch` stays: no record has it."""
        self.producer = Producer(value.producer_id, value.producer_epoch)
        self.previous_producer_id = value.previous_producer_id
        self.next_producer_id = value.next_producer_id
        self.timeout_ms = value.timeout_ms
        self.state = STATES[value.status]
        self.partitions = dict.fromkeys(value.partitions)
        self.start_ms = value.start_ms
        self.last_update_ms = value.last_update_ms
        self.client_transaction_version = value.client_transaction_version

    def __repr__(self) -> str:
        return f"<Transaction {self.transactional_id} {self.state.kafka_name} {self.producer}>"
