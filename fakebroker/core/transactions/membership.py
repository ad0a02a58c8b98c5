"""What the leader of a partition asks the transaction coordinator: is this partition in the producer's transaction?

Produce and TxnOffsetCommit ask before they append (TX-6, TX-11, TX-13). Kafka: `AddPartitionsToTxnManager`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from fakebroker.core.transactions.producer import Producer
from fakebroker.errors import ErrorCode
from fakebroker.instant import Instant
from fakebroker.records.offsets_topic import TopicPartition

if TYPE_CHECKING:
    from fakebroker.core.node import Node


def ask_coordinator(
    node: "Node",
    transactional_id: str,
    producer: Producer,
    partitions: Sequence[TopicPartition],
    *,
    adds: bool,
    retry_ms: int | None,
    answer: Callable[[Mapping[TopicPartition, ErrorCode]], None],
    now: Instant,
) -> None:
    """Ask on behalf of `node`, which leads the partitions, whether they are in the transaction.

    With `adds` they are added (transaction protocol 2, TX-11), else verified only. While the last transaction is
    completing, it is asked again every `add.partitions.to.txn.retry.backoff.ms` for `retry_ms`; None: never (TX-13).
    `answer` is called once, usually before this returns, with the coordinator's code of each partition: NONE, 120
    (not in it), 49, 90, 51, and for a coordinator that is not there 14, 15, 16 or NETWORK_EXCEPTION.
    """
    raise NotImplementedError
