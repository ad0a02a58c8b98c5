"""A transactional id of any Kafka, as DescribeTransactions shows it."""

from typing import Any

from fakebroker.client.cluster.asking import Asking
from fakebroker.client.cluster.preparing import await_transactions
from fakebroker.protocol.errors import ErrorCode, KafkaError, WaitTimeout
from fakebroker.protocol.records.offsets_topic import TopicPartition
from fakebroker.protocol.wire.messages.describe_transactions import TransactionState
from fakebroker.testing.handles.handle import WAIT_S

RETRY_MS = 100
_NONE_KNOWN = TransactionState(
    transaction_state="Dead",
    producer_id=-1,
    producer_epoch=-1,
    transaction_timeout_ms=-1,
    transaction_start_time_ms=-1,
    topics=[],
)


class KafkaTransaction:
    """One transactional id. The properties are those of `TransactionHandle`."""

    def __init__(self, cluster: Asking, transactional_id: str) -> None:
        self._cluster = cluster
        self.transactional_id = transactional_id

    def __repr__(self) -> str:
        return f"<transaction {self.transactional_id}>"

    @property
    def exists(self) -> bool:
        """Whether the coordinator knows it."""
        return self.state != "Dead"

    @property
    def state(self) -> str:
        """The state; "Dead" for one that is not known."""
        return str(self._described().transaction_state)

    @property
    def producer_id(self) -> int:
        """The id of the producer that may write."""
        return int(self._described().producer_id)

    @property
    def producer_epoch(self) -> int:
        """The epoch of the producer that may write."""
        return int(self._described().producer_epoch)

    @property
    def partitions(self) -> list[TopicPartition]:
        """The partitions of the transaction, in Kafka's order."""
        topics = self._described().topics
        return [TopicPartition(each.topic, index) for each in topics for index in each.partitions]

    @property
    def timeout_ms(self) -> int:
        """How long a transaction may be open."""
        return int(self._described().transaction_timeout_ms)

    @property
    def start_ms(self) -> int:
        """The time of day at which the present or last transaction began; -1 if none did."""
        return int(self._described().transaction_start_time_ms)

    def wait(
        self,
        state: str | None = None,
        *,
        partitions: int | None = None,
        epoch: int | None = None,
        timeout_s: float = WAIT_S,
    ) -> None:
        """Wait until it is as described, in everything that is given. Raises WaitTimeout."""
        driver = self._cluster.driver
        end_ms = driver.mono_ms + round(timeout_s * 1000)
        while True:
            seen = self._described()
            count = sum(len(each.partitions) for each in seen.topics)
            if (
                state in (None, seen.transaction_state)
                and partitions in (None, count)
                and (epoch is None or seen.producer_epoch >= epoch)
            ):
                return
            if driver.mono_ms >= end_ms:
                text = f"{seen.transaction_state} with {count} partitions, epoch {seen.producer_epoch}"
                raise WaitTimeout(f"waited {timeout_s:g} s for {self!r}; it is {text}")
            driver.pass_time(RETRY_MS)

    def _described(self) -> Any:
        """What DescribeTransactions says of it. Raises KafkaError for errors that do not pass."""
        (described,) = await_transactions(self._cluster, self.transactional_id).transaction_states
        code = ErrorCode(described.error_code)
        if code is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            return _NONE_KNOWN
        if code:
            raise KafkaError(code, f"transactional id {self.transactional_id!r}")
        return described
