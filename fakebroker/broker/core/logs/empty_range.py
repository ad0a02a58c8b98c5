"""Logs that have offsets and no records, as in a clone without records."""

from typing import TYPE_CHECKING, NamedTuple

from fakebroker.broker.core.logs.segment import Segment
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.search import BEFORE_EVERY_TIMESTAMP

if TYPE_CHECKING:
    from fakebroker.broker.core.logs.log import PartitionLog

MAX_OFFSETS_IN_BATCH = 2**31 - 1


class EmptyRange(NamedTuple):
    """The offsets of a log whose records are not here, as if all had been compacted away.

    `written_ms` is the time of the last write, from which retention counts once the log is used.
    """

    start: int
    end: int
    written_ms: int

    def fill(self, log: "PartitionLog", leader_epoch: int) -> None:
        """Give these offsets to an unused log."""
        log.fill(self._segments(leader_epoch, log.config.index_interval_bytes), [(leader_epoch, self.start)])
        log.log_start_offset = self.start
        log.log_end_offset = log.high_watermark = log.last_stable_offset = self.end

    def _segments(self, leader_epoch: int, index_interval_bytes: int) -> list[Segment]:
        """A batch without records before the end, as compaction leaves one: readers get to the end with it."""
        active = Segment(self.end, self.written_ms)
        if self.start == self.end:
            return [active]
        base_offset = max(self.start, self.end - MAX_OFFSETS_IN_BATCH)
        last_offset_delta = self.end - base_offset - 1
        batch = build_batch((), base_offset=base_offset, last_offset_delta=last_offset_delta, leader_epoch=leader_epoch)
        closed = Segment(base_offset, self.written_ms)
        closed.add(batch, base_offset, BEFORE_EVERY_TIMESTAMP, self.written_ms, index_interval_bytes)
        return [closed, active]
