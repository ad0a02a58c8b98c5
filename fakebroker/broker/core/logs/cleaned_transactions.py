"""Which transactional data compaction drops, and which markers: those of transactions without data (CO-5, CO-7).

Kafka: `CleanedTransactionMetadata`.
"""

from collections.abc import Iterable

from fakebroker.broker.core.logs.aborted import AbortedTransaction
from fakebroker.protocol.records.batch import BatchHeader, read_records
from fakebroker.protocol.records.markers import ControlRecordType, control_record_type


def _first_offset(transaction: AbortedTransaction) -> int:
    return transaction.first_offset


class CleanedTransactions:
    """The transactions that are met on the way through a log: it is told of each batch, in their order.

    `retained` are the aborted transactions that still had data: their entries are needed once more.
    """

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self.retained: set[AbortedTransaction] = set()
        self._ahead = sorted(aborted, key=_first_offset, reverse=True)  # the next one is the last
        self._aborted: dict[int, AbortedTransaction] = {}  # by producer id: those that have begun
        self._with_data: set[int] = set()  # producer ids of which data was met since their last marker

    def is_unneeded(self, batch: bytes, header: BatchHeader) -> bool:
        """Whether a batch is data of an aborted transaction, or a marker of a transaction without data."""
        while self._ahead and self._ahead[-1].first_offset <= header.last_offset:
            begun = self._ahead.pop()
            self._aborted.setdefault(begun.producer_id, begun)
        if header.is_control:
            return self._is_unneeded_marker(batch, header)
        if not header.is_transactional:
            return False
        self._with_data.add(header.producer_id)
        return header.producer_id in self._aborted

    def _is_unneeded_marker(self, batch: bytes, header: BatchHeader) -> bool:
        marker = next(read_records(batch), None)
        if marker is None:  # a batch that an earlier pass has emptied
            return True
        kind = control_record_type(marker.key)
        if kind not in (ControlRecordType.ABORT, ControlRecordType.COMMIT):
            return False
        aborted = self._aborted.pop(header.producer_id, None) if kind == ControlRecordType.ABORT else None
        has_data = header.producer_id in self._with_data
        self._with_data.discard(header.producer_id)
        if has_data and aborted is not None:
            self.retained.add(aborted)
        return not has_data
