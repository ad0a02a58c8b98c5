"""The transaction of a Produce request: whether its partitions are in it, as its coordinator says (KIP-890).

A transactional batch is appended only if its producer has an open transaction on the partition, or if the coordinator
says that the partition is in the transaction (TX-6); from v12 on the coordinator adds it then (TX-11). Kafka:
`ReplicaManager.handleProduceAppend`, `maybeSendPartitionsToTransactionCoordinator`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from fakebroker.broker.apis.call import Call
from fakebroker.broker.core.logs.appends import AppendError, AppendErrorContent
from fakebroker.broker.core.transactions.membership import ask_coordinator
from fakebroker.broker.core.transactions.producer import Producer
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.batch import BatchHeader, parse_header
from fakebroker.protocol.records.batch_format import (
    ATTRIBUTES_POSITION,
    HEADER_BYTES,
    MAGIC_POSITION,
    TRANSACTIONAL_BIT,
)
from fakebroker.protocol.records.offsets_topic import TopicPartition

if TYPE_CHECKING:
    from fakebroker.broker.core.logs.log import PartitionLog
    from fakebroker.broker.core.logs.producers import Verification
    from fakebroker.broker.core.topics import Partition

_FIRST_ABORTABLE_VERSION = 11  # knows TRANSACTION_ABORTABLE
_FIRST_TV2_VERSION = 12  # adds partitions by itself (TX-10)
_TRY_AGAIN = frozenset(  # answered as NOT_ENOUGH_REPLICAS, after which clients of all ages try again (TX-6)
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NETWORK_EXCEPTION,
    }
)
_NEWEST_FORMAT = 2


def is_transactional(records: bytes | None) -> bool:
    """Whether the records of a partition are a transactional batch, as far as its header says."""
    if records is None or len(records) < HEADER_BYTES or records[MAGIC_POSITION] != _NEWEST_FORMAT:
        return False
    return bool(records[ATTRIBUTES_POSITION + 1] & TRANSACTIONAL_BIT)  # of two bytes the second has the low bits


class ProducedTransaction:
    """The transactional batches of one request, and what the coordinator says of their partitions."""

    def __init__(self, call: Call, transactional_id: str, batches: Iterable[tuple["Partition", bytes | None]]) -> None:
        """`batches` are those of the request that may be appended; all that are not transactional are passed over."""
        self._call = call
        self._transactional_id = transactional_id
        self._is_tv2 = call.version >= _FIRST_TV2_VERSION
        is_verifying = call.cluster.settings.get_bool("transaction.partition.verification.enable")
        self._is_verifying = is_verifying or self._is_tv2
        self._headers: dict[Partition, BatchHeader] = {}
        for partition, batch in batches:
            if batch is not None and len(batch) >= HEADER_BYTES:
                header = parse_header(batch)
                if header.is_transactional and header.producer_id >= 0:
                    self._headers[partition] = header
        self._fenced: dict[Partition, int] = {}  # where the producer is too old, and the epoch that the log knows
        self._verifications: dict[Partition, Verification] = {}
        self._codes: Mapping[TopicPartition, ErrorCode] = {}
        self.is_answered = False

    @property
    def has_several_producers(self) -> bool:
        """Whether the batches are of more than one producer id and epoch: such a request is refused as a whole."""
        return len({(header.producer_id, header.producer_epoch) for header in self._headers.values()}) > 1

    def logs(self) -> "Iterator[PartitionLog]":
        """The logs that `ask` needs; one that was not used yet is made."""
        for partition in list(self._headers) if self._is_verifying else ():
            if self._is_here(partition):
                yield partition.log

    def _is_here(self, partition: "Partition") -> bool:
        """Whether this broker leads it. Where it does not, the batch is refused later, without a question."""
        is_there = self._call.cluster.topics.by_id(partition.topic.id) is partition.topic
        return is_there and not partition.error_for_access(self._call.node.id)

    def ask(self, on_late_answer: Callable[[], None]) -> None:
        """Ask the coordinator for the partitions without an open transaction, if there are any.

        `is_answered` says whether the answer is there when this returns; else `on_late_answer` is called with it.
        """
        call = self._call
        is_late = False

        def take(codes: Mapping[TopicPartition, ErrorCode]) -> None:
            self._codes, self.is_answered = codes, True
            if is_late:
                self._begin_verifications()  # anew: the marker may have come that was waited for (TX-13)
                on_late_answer()

        self._refuse_fenced()
        self._begin_verifications()
        if not self._verifications:
            self.is_answered = True
            return
        producer = next((header.producer_id, header.producer_epoch) for header in self._headers.values())
        longest_ms = call.node.settings.get_int("add.partitions.to.txn.retry.backoff.max.ms")
        ask_coordinator(
            call.node,
            self._transactional_id,
            Producer(*producer),
            [TopicPartition(partition.topic.name, partition.index) for partition in self._verifications],
            adds=self._is_tv2,
            retry_ms=longest_ms if self._is_tv2 else None,
            answer=take,
            now=call.now,
        )
        is_late = True

    def _refuse_fenced(self) -> None:
        """Do not ask for partitions where the producer has written with a higher epoch: they are refused at once."""
        if not (self._is_verifying and self._call.cluster.behaviours.verification_checks_epoch):
            return
        for partition, header in list(self._headers.items()):
            log = partition.used_log
            producer = None if log is None else log.producers.get(header.producer_id)
            if producer is not None and header.producer_epoch < producer.epoch and self._is_here(partition):
                del self._headers[partition]
                self._fenced[partition] = producer.epoch

    def _begin_verifications(self) -> None:
        """For the partitions to ask for."""
        for partition, header in self._headers.items() if self._is_verifying else ():
            producer = header.producer_id, header.producer_epoch
            if self._is_here(partition) and not partition.log.producers.is_in_transaction(*producer):
                self._verifications[partition] = partition.log.begin_verification(
                    *producer, header.base_sequence, self._call.now, is_tv2=self._is_tv2
                )

    def error_of(self, partition: "Partition") -> AppendErrorContent | None:
        """Why nothing may be appended to a partition of the request, None if the coordinator has no objection."""
        if partition in self._fenced:
            text = f"{partition.log.name}: the producer is at epoch {self._fenced[partition]}"
            return AppendErrorContent(ErrorCode.INVALID_PRODUCER_EPOCH, text)
        code = self._codes.get(TopicPartition(partition.topic.name, partition.index), ErrorCode.NONE)
        return self._error_for_version(code) if code else None

    def check(self, partition: "Partition") -> None:
        """Right before the append: a marker may have ended the transaction since the coordinator was asked.

        Raises AppendError(INVALID_TXN_STATE) then.
        """
        header = self._headers.get(partition)
        if header is None or not self._is_verifying:
            return
        producer = header.producer_id, header.producer_epoch
        if not partition.log.producers.is_verified(*producer, self._verifications.get(partition)):
            raise AppendError(
                ErrorCode.INVALID_TXN_STATE, f"{partition.log.name}: the batch's transaction has ended in the meantime"
            )

    def _error_for_version(self, code: ErrorCode) -> AppendErrorContent:
        """The error that a producer of the request's version gets for a code of the coordinator (TX-6, TX-7)."""
        version = self._call.version
        if code == ErrorCode.PRODUCER_FENCED:
            return AppendErrorContent(ErrorCode.INVALID_PRODUCER_EPOCH, "the transaction has another epoch")
        if code == ErrorCode.TRANSACTION_ABORTABLE and version < _FIRST_ABORTABLE_VERSION:
            code = ErrorCode.INVALID_TXN_STATE
        if code == ErrorCode.INVALID_TXN_STATE:
            return AppendErrorContent(code, "Partition was not added to the transaction", show_message=True)
        if code in _TRY_AGAIN or (code == ErrorCode.CONCURRENT_TRANSACTIONS and not self._is_tv2):
            message = f"the transaction coordinator could not verify the partition: {code.name}"
            return AppendErrorContent(ErrorCode.NOT_ENOUGH_REPLICAS, message, show_message=True)
        return AppendErrorContent(code, f"the transaction coordinator answered {code.name}")
