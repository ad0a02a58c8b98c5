"""The state of a log, made of batches that another broker has stored.

Offsets stay as they are. Where batches are missing the log has gaps, as after compaction. Messages of the formats 0
and 1 become batches of format 2, as the log keeps no others.
"""

from collections.abc import Callable
from typing import Final

from fakebroker.broker.core.cluster_state import LogState, ProducerValues, SegmentState, segment_state
from fakebroker.broker.core.logs.aborted import AbortedTransaction, AbortedTransactions
from fakebroker.broker.core.logs.leader_epochs import LeaderEpochs
from fakebroker.broker.core.logs.producers import Producers
from fakebroker.broker.core.logs.segment import Segment
from fakebroker.protocol.records.batch import BatchHeader, build_batch, parse_header, read_records
from fakebroker.protocol.records.batch_format import MAGIC_POSITION
from fakebroker.protocol.records.markers import ControlRecordType, control_record_type, coordinator_epoch_of
from fakebroker.protocol.records.message_set import Message, read_message_set, unwrap
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.records.search import BEFORE_EVERY_TIMESTAMP

_FORMAT: Final = 2
SEGMENT_BYTES: Final = 16 << 20
_INDEX_INTERVAL_BYTES: Final = 4096


class LogBuilder:
    """Collects the batches of one log in the order of their offsets.

    `full_segments` takes out the segments that are full, so that a long log needs little memory.
    """

    def __init__(self, altered: Callable[[bytes], bytes] | None = None) -> None:
        """`altered` changes each batch, which is of format 2 by then, before it is stored."""
        self._altered = altered
        self.records_count = 0
        self.highest_producer_id = -1
        self.end_offset = 0
        self._segment: Segment | None = None
        self._full: list[SegmentState] = []
        self._producers = Producers()
        self._aborted = AbortedTransactions()
        self._epochs = LeaderEpochs()

    def add(self, data: bytes) -> None:
        """Take one batch of format 2, or one message of an old format.

        Raises InvalidRecord for bytes that cannot be read.
        """
        is_old = data[MAGIC_POSITION] < _FORMAT
        for batch in map(_batch_of, read_message_set(data)) if is_old else (data,):
            stored = batch if self._altered is None else self._altered(batch)
            self._add(stored, parse_header(stored))

    def begin_segment(self, base_offset: int) -> None:
        """Begin a segment, as the other broker did."""
        self._close_segment()
        self._segment = Segment(base_offset, 0)

    def full_segments(self) -> list[SegmentState]:
        """The segments that are full since the last call."""
        full, self._full = self._full, []
        return full

    def finish(
        self, start_offset: int, end_offset: int, *, modified_ms: int, ends_transactions: bool = False
    ) -> LogState:
        """The state of the whole log, with those segments that `full_segments` has not taken out.

        Args:
            start_offset: Where the log starts.
            end_offset: Where it ends, at least; all of it is committed.
            modified_ms: The time of the last write, for a segment without batches.
            ends_transactions: Count transactions without a marker as aborted, because their coordinator is not there.
        """
        end_offset = max(end_offset, self.end_offset)
        if self._segment is None:
            self._segment = Segment(end_offset, modified_ms)
        self._close_segment()
        if ends_transactions:
            self._abort_open_transactions(end_offset)
        unstable = self._producers.first_unstable_offset
        return LogState(
            log_start_offset=start_offset,
            log_end_offset=end_offset,
            high_watermark=end_offset,
            last_stable_offset=end_offset if unstable is None else unstable,
            high_watermark_limit=None,
            cleaned_until=0,
            epochs=tuple(self._epochs.entries()),
            producers=self._producer_values(),
            segments=tuple(self._full),
            aborted=tuple(self._aborted.entries),
        )

    def _add(self, batch: bytes, header: BatchHeader) -> None:
        segment = self._segment
        if segment is None or segment.size_bytes >= SEGMENT_BYTES:
            self.begin_segment(header.base_offset)
        assert self._segment is not None, "a segment was begun"
        if not self._segment.batches:
            self._segment.created_ms = max(header.max_timestamp_ms, 0)
        time_ms = header.max_timestamp_ms if header.records_count else BEFORE_EVERY_TIMESTAMP
        wall_ms = max(header.max_timestamp_ms, self._segment.modified_ms)
        self._segment.add(batch, header.base_offset, time_ms, wall_ms, _INDEX_INTERVAL_BYTES)
        self.end_offset = header.last_offset + 1
        self.records_count += 0 if header.is_control else header.records_count
        if header.leader_epoch >= 0:
            self._epochs.begin(header.leader_epoch, header.base_offset)
        if header.producer_id >= 0:
            self._wrote(batch, header)

    def _wrote(self, batch: bytes, header: BatchHeader) -> None:
        self.highest_producer_id = max(self.highest_producer_id, header.producer_id)
        if not header.is_control:
            self._producers.written(header, header.base_offset, header.max_timestamp_ms)
            return
        for marker in read_records(batch):
            kind = control_record_type(marker.key)
            if kind not in (ControlRecordType.ABORT, ControlRecordType.COMMIT):
                continue
            epoch = coordinator_epoch_of(marker.value)
            began = self._producers.ended(header.producer_id, header.producer_epoch, epoch, marker.timestamp_ms)
            if began is not None and kind == ControlRecordType.ABORT:
                stable_offset = self._producers.open_before(marker.offset + 1)
                self._aborted.add(AbortedTransaction(header.producer_id, began, marker.offset, stable_offset))

    def _abort_open_transactions(self, end_offset: int) -> None:
        for state in self._producers:
            began = state.current_transaction_offset
            if began is not None:
                self._producers.ended(state.producer_id, state.epoch, state.coordinator_epoch, state.last_timestamp_ms)
                self._aborted.add(AbortedTransaction(state.producer_id, began, end_offset - 1, end_offset))

    def _close_segment(self) -> None:
        if self._segment is not None:
            self._full.append(segment_state(self._segment))
            self._segment = None

    def _producer_values(self) -> tuple[ProducerValues, ...]:
        return tuple(
            ProducerValues(
                each.producer_id,
                each.epoch,
                tuple(each.batches),
                each.last_timestamp_ms,
                each.coordinator_epoch,
                each.current_transaction_offset,
            )
            for each in self._producers
        )


def _batch_of(message: Message) -> bytes:
    """A batch of format 2 with a message of an old format, or with those inside it."""
    inner = unwrap(message)
    records = [Record(each.offset, each.timestamp_ms, each.key, each.value) for each in inner]
    append_time_ms = message.timestamp_ms if message.is_log_append_time else None
    return build_batch(records, codec=message.codec, leader_epoch=-1, log_append_time_ms=append_time_ms)
