"""Records of `__transaction_state` that are values until the log is read or measured, and become bytes then."""

from collections.abc import Mapping, Sequence
from typing import Final

from fakebroker.broker.core.logs.pending_batches import Pair
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.records.transaction_log import TransactionValue, transaction_key, transaction_value

# What values take in CPython 3.11, measured: they need to be right on the average only, and the same everywhere.
_WRITE_BYTES = 560
_PARTITION_BYTES = 16
_LONGEST_PARTITION_BYTES = 260  # of a record: a topic's name and an index, with lengths
_ROOM_BYTES = 1024
_BATCH_BYTES: Final = 64


class TransactionRecord:
    """The record of one transactional id. `latest` says at which offset of the log each id's latest record is."""

    __slots__ = ("_latest", "_version", "offset", "transactional_id", "value")

    def __init__(
        self, transactional_id: str, value: TransactionValue, version: int, offset: int, latest: Mapping[str, int]
    ) -> None:
        self.transactional_id = transactional_id
        self.value = value
        self.offset = offset
        self._version = version
        self._latest = latest

    def __len__(self) -> int:
        return 1

    def records(self) -> list[Pair]:
        """Key and value as bytes."""
        return [(transaction_key(self.transactional_id), transaction_value(self.value, self._version))]

    def is_larger_than(self, limit_bytes: int) -> bool:
        """Whether the batch with this record would be larger. It is built only if an upper bound is too large."""
        longest = len(self.value.partitions) * _LONGEST_PARTITION_BYTES + 4 * len(self.transactional_id) + _ROOM_BYTES
        return longest > limit_bytes and self._size_bytes() > limit_bytes

    def _size_bytes(self) -> int:
        [(key, value)] = self.records()
        return len(build_batch([Record(0, 0, key, value, ())]))

    def memory_bytes(self) -> int:
        """Roughly the memory that the write takes."""
        return _WRITE_BYTES + _PARTITION_BYTES * len(self.value.partitions)

    def all_overwritten(self) -> bool:
        """Whether a later record replaced it."""
        return self._latest.get(self.transactional_id) != self.offset


class ForgottenIds:
    """The tombstones of transactional ids that have expired: one batch (TX-24)."""

    __slots__ = ("transactional_ids",)

    def __init__(self, transactional_ids: Sequence[str]) -> None:
        self.transactional_ids = transactional_ids

    def __len__(self) -> int:
        return len(self.transactional_ids)

    def records(self) -> list[Pair]:
        """Keys, without values."""
        return [(transaction_key(each), None) for each in self.transactional_ids]

    def memory_bytes(self) -> int:
        """Roughly the memory that the write takes."""
        return _WRITE_BYTES + sum([49 + len(each) for each in self.transactional_ids])

    def all_overwritten(self) -> bool:
        """Never known: they stay until the log is compacted."""
        return False


def in_batches(transactional_ids: Sequence[str], limit_bytes: int) -> list[list[str]]:
    """The ids in portions whose tombstones surely fit into a batch of `limit_bytes` each."""
    portions: list[list[str]] = []
    left_bytes = 0
    for each in transactional_ids:
        size_bytes = 4 * len(each) + _BATCH_BYTES
        if size_bytes > left_bytes:
            portions.append([])
            left_bytes = limit_bytes - _ROOM_BYTES
        portions[-1].append(each)
        left_bytes -= size_bytes
    return portions
