"""The log of a topic in releases before 3.0, where `message.format.version` says in which format records are stored.

For clients the records of such a topic have format 0 or 1: each uncompressed one is a message of its own, Fetch answers
them as they are stored whatever its version, format 0 has no times (LO-7), and there are no headers, no zstd, no
idempotence and no leader epochs (MS-9). Inside they are batches of format 2 like all others, with a mark in their
attributes (`records.conversion.mark_old_format`): whatever reads logs inside the broker needs to know one format only.
Kafka: `LogValidator.convertAndAssignOffsets` and `Log.fetchOffsetsByTimestamp` of 2.x.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fakebroker.broker.core.logs.appends import AppendError
from fakebroker.broker.core.logs.config import LogConfig
from fakebroker.broker.core.logs.leader_epochs import LeaderEpochs
from fakebroker.broker.core.logs.log import Appended, PartitionLog
from fakebroker.broker.core.logs.log_time_search import Search
from fakebroker.broker.settings.message_formats import NEWEST_MAGIC
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.batch import BatchHeader, parse_header, split_batches
from fakebroker.protocol.records.batch_format import ATTRIBUTES_POSITION, LOG_APPEND_TIME_BIT
from fakebroker.protocol.records.conversion import (
    RECORDS_PER_PART,
    as_formatted,
    is_marked,
    mark_old_format,
    without_mark,
)
from fakebroker.protocol.records.faults import InvalidRecord
from fakebroker.protocol.records.record_scan import scan

if TYPE_CHECKING:
    from fakebroker.broker.core.logs.request_scans import ScanBatch

_BEFORE_LENGTH_ENDS = 12  # bytes of a batch before and with its length, which does not count them


class OldFormatsLog(PartitionLog):
    """A log whose newest records may have an old format. The topic's setting counts as it is now, as in Kafka."""

    @property
    def epochs(self) -> LeaderEpochs:
        """The history of leader epochs; none while the format has no place for them (MS-9)."""
        if self.config.magic == NEWEST_MAGIC:
            return super().epochs
        if self._epochs.entries():
            self._epochs = LeaderEpochs()
        return self._epochs

    def append(self, data: bytes, now: Instant, scan_batch: "ScanBatch" = scan) -> Appended:
        """As `PartitionLog.append`; 2.1.1 refuses batches in which a client has set LOG_APPEND_TIME_BIT (PD-21)."""
        is_refused = self.partition.topic.cluster.behaviours.append_time_bit_is_refused
        if is_refused and data[ATTRIBUTES_POSITION + 1] & LOG_APPEND_TIME_BIT:
            raise AppendError(ErrorCode.INVALID_TIMESTAMP, f"{self.name}: only the broker sets LogAppendTime")
        return super().append(data, now, scan_batch)

    def read(self, offset: int, max_bytes: int, end: int, *, at_least_one: bool = True) -> list[bytes]:
        """As `PartitionLog.read`, with records of an old format as messages of that format.

        Uncompressed ones count one by one: those before `offset` are left out, and so is what `max_bytes` has no room
        for. MOCK: what follows after very many converted records is left to the next read.
        """
        batches = super().read(offset, max_bytes, end)  # with a first one that is too large: its messages may fit
        answered: list[bytes] = []
        left_bytes = max_bytes
        for entry in _as_stored(batches, offset):
            left_bytes -= len(entry)
            if left_bytes < 0 and (answered or not at_least_one):
                break
            answered.append(entry)
        return answered

    def find_by_timestamp(self, target_ms: int, end: int) -> Search:
        """As `PartitionLog.find_by_timestamp`; raises KafkaError(UNSUPPORTED_FOR_MESSAGE_FORMAT) in format 0 (LO-7)."""
        if not self.config.magic:
            raise KafkaError(
                ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, f"{self.name}: its message format has no timestamps"
            )
        return (yield from super().find_by_timestamp(target_ms, end))

    def _check_producer(self, header: BatchHeader) -> Appended | None:
        if self.config.magic < NEWEST_MAGIC:
            raise AppendError(
                ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
                f"{self.name}: message format {self.config.magic} does not support idempotent producers",
            )
        return super()._check_producer(header)

    def _store(
        self, data: bytes, last_offset_delta: int, max_timestamp_ms: int, wall_ms: int, config: LogConfig
    ) -> int:
        if config.magic == NEWEST_MAGIC or parse_header(data).is_control:
            data = without_mark(data)
        else:
            try:
                data = mark_old_format(data, config.magic)
            except InvalidRecord as fault:
                raise AppendError(fault.code, f"{self.name}: {fault.message}") from None
            max_timestamp_ms = parse_header(data).max_timestamp_ms
        return super()._store(data, last_offset_delta, max_timestamp_ms, wall_ms, config)


def _as_stored(batches: Iterable[bytes], offset: int) -> Iterable[bytes]:
    """Batches and messages as clients see them stored; uncompressed messages before `offset` are left out.

    So is the beginning of a batch that did not fit, unless it is known to be of the newest format: it cannot be
    converted.
    """
    records = 0
    for batch in batches:
        if records > RECORDS_PER_PART:
            break
        if len(batch) <= ATTRIBUTES_POSITION:
            continue
        if is_marked(batch):
            if len(batch) < _BEFORE_LENGTH_ENDS + int.from_bytes(batch[8:_BEFORE_LENGTH_ENDS]):
                continue
            records += parse_header(batch).records_count
            yield from split_batches(as_formatted(batch, offset))
        else:
            yield batch
