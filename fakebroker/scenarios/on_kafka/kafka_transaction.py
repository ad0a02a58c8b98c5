"""A transactional id of any Kafka, as DescribeTransactions shows it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fakebroker.protocol.errors import ErrorCode, KafkaError, WaitTimeout
from fakebroker.protocol.records.offsets_topic import TopicPartition
from fakebroker.testing.handles.handle import WAIT_S

if TYPE_CHECKING:
    from fakebroker.scenarios.on_kafka.kafka_powers import Asker

RETRY_MS = 100
_TRANSACTION = 1  # a key type of FindCoordinator
_NONE_KNOWN: Mapping[str, Any] = {
    "TransactionState": "Dead",
    "ProducerId": -1,
    "ProducerEpoch": -1,
    "TransactionTimeoutMs": -1,
    "TransactionStartTimeMs": -1,
    "Topics": (),
}


class KafkaTransaction:
    """One transactional id. The properties are those of `TransactionHandle`."""

    def __init__(self, asker: "Asker", transactional_id: str) -> None:
        self._asker = asker
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
        return str(self._described()["TransactionState"])

    @property
    def producer_id(self) -> int:
        """The id of the producer that may write."""
        return int(self._described()["ProducerId"])

    @property
    def producer_epoch(self) -> int:
        """The epoch of the producer that may write."""
        return int(self._described()["ProducerEpoch"])

    @property
    def partitions(self) -> list[TopicPartition]:
        """The partitions of the transaction, in Kafka's order."""
        topics = self._described()["Topics"]
        return [TopicPartition(each["Topic"], index) for each in topics for index in each["Partitions"]]

    @property
    def timeout_ms(self) -> int:
        """How long a transaction may be open."""
        return int(self._described()["TransactionTimeoutMs"])

    @property
    def start_ms(self) -> int:
        """The time of day at which the present or last transaction began; -1 if none did."""
        return int(self._described()["TransactionStartTimeMs"])

    def wait(
        self,
        state: str | None = None,
        *,
        partitions: int | None = None,
        epoch: int | None = None,
        timeout_s: float = WAIT_S,
    ) -> None:
        """Wait until it is as described, in everything that is given. Raises WaitTimeout."""
        driver = self._asker.driver
        end_ms = driver.mono_ms + round(timeout_s * 1000)
        while True:
            seen = self._described()
            count = sum(len(each["Partitions"]) for each in seen["Topics"])
            if (
                state in (None, seen["TransactionState"])
                and partitions in (None, count)
                and (epoch is None or seen["ProducerEpoch"] >= epoch)
            ):
                return
            if driver.mono_ms >= end_ms:
                text = f"{seen['TransactionState']} with {count} partitions, epoch {seen['ProducerEpoch']}"
                raise WaitTimeout(f"waited {timeout_s:g} s for {self!r}; it is {text}")
            driver.pass_time(RETRY_MS)

    def _described(self) -> Mapping[str, Any]:
        """What DescribeTransactions says of it. Raises KafkaError for errors that do not pass."""
        answer = self._asker.until("DescribeTransactions", 0, _code_of, transactional_ids=[self.transactional_id])
        (described,) = answer["TransactionStates"]
        code = ErrorCode(described["ErrorCode"])
        if code is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            return _NONE_KNOWN
        if code:
            raise KafkaError(code, f"transactional id {self.transactional_id!r}")
        return dict(described)


def await_transactions(asker: "Asker", transactional_id: str) -> None:
    """Wait until a coordinator answers for a transactional id: the first one ever asked for has a topic to create."""
    asker.until("FindCoordinator", 1, _top, key=transactional_id, key_type=_TRANSACTION)
    asker.until("DescribeTransactions", 0, _code_of, transactional_ids=[transactional_id])


def _top(answer: Any) -> int:
    return int(answer["ErrorCode"])


def _code_of(answer: Any) -> int:
    return int(answer["TransactionStates"][0]["ErrorCode"])
