"""What is asked of a transactional id, as values for the functions of the table."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from fakebroker.broker.core.transactions.producer import Producer
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.offsets_topic import TopicPartition

CodeAnswer = Callable[[ErrorCode], None]
ProducerAnswer = Callable[[ErrorCode, Producer], None]


class InitRequest(NamedTuple):
    """An InitProducerId; `expected` is the producer that the client says it is, None if it does not say (KIP-360)."""

    timeout_ms: int
    expected: Producer | None
    answer: ProducerAnswer


class AddRequest(NamedTuple):
    """Partitions to be added, some of which are new to the transaction."""

    partitions: Sequence[TopicPartition]
    is_tv2: bool
    answer: CodeAnswer


class EndRequest(NamedTuple):
    """An EndTxn; whether it commits says the input."""

    is_tv2: bool
    answer: ProducerAnswer
