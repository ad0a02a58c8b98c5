"""What is in a .log file: its batches, and the arrays beside them that a segment in memory has."""

from array import array
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from fakebroker.broker.core.logs.running_maximum import RunningMaximum
from fakebroker.broker.core.logs.segment import Segment
from fakebroker.protocol.records.batch import LONG_BATCH_BYTES, crc32c, crc32c_of_long
from fakebroker.protocol.records.batch_format import CRC_POSITION, CRC_START, HEADER_BYTES, LENGTH_END
from fakebroker.protocol.records.search import BEFORE_EVERY_TIMESTAMP
from fakebroker.protocol.storage.indexes import OffsetIndexEntry, TimeIndexEntry

if TYPE_CHECKING:
    from mmap import mmap

    Int64s = array[int]
else:
    Int64s = array  # without a parameter, which it takes from Python 3.12 on only

# Base offset, length, magic, last offset delta, max timestamp, number of records.
_FIELDS = Struct(">qi4xb6xi8xq14xi").unpack_from


class SegmentContent(NamedTuple):
    """The whole batches of a .log file; `problem` says why reading ended before the end of the file."""

    batches: list[bytes]
    offsets: Int64s
    ends: Int64s
    times: RunningMaximum
    first_timestamp_ms: int
    end_offset: int  # one more than the last offset
    problem: str | None

    @property
    def size_bytes(self) -> int:
        """Bytes of the whole batches."""
        return self.ends[-1] if self.ends else 0

    def put_into(self, segment: Segment, index_interval_bytes: int) -> None:
        """Give a segment this content."""
        segment.batches, segment.offsets, segment.ends = self.batches, self.offsets, self.ends
        segment.times, segment.first_timestamp_ms = self.times, self.first_timestamp_ms
        entries = unindexed_bytes = start = 0
        for end in self.ends:
            if unindexed_bytes > index_interval_bytes:
                entries += 1
                unindexed_bytes = 0
            unindexed_bytes += end - start
            start = end
        segment.index_entries, segment.unindexed_bytes = entries, unindexed_bytes


def read_content(data: "bytes | mmap", base_offset: int, *, check_crc: bool) -> SegmentContent:
    """Read the batches of a segment up to the first that is not whole, or, with `check_crc`, is damaged."""
    batches: list[bytes] = []
    offsets, ends, times = array("q"), array("q"), RunningMaximum()
    position, size, end_offset, problem = 0, len(data), base_offset, None
    first_ms = BEFORE_EVERY_TIMESTAMP
    while position < size:
        if size - position < HEADER_BYTES:
            problem = f"{size - position} bytes at position {position} are too few for a batch"
            break
        offset, length, magic, delta, max_ms, count = _FIELDS(data, position)
        batch_end = position + length + LENGTH_END
        if magic != 2 or batch_end - position < HEADER_BYTES or offset < end_offset or delta < 0:
            problem = f"no batch begins at position {position}"
            break
        if batch_end > size:
            problem = f"the batch at position {position} is cut off after {size - position} bytes"
            break
        batch = data[position:batch_end]
        if check_crc and not _has_right_crc(batch):
            problem = f"the batch at position {position} is damaged: its checksum is wrong"
            break
        time_ms = max_ms if count else BEFORE_EVERY_TIMESTAMP
        if not batches:
            first_ms = time_ms
        batches.append(batch)
        offsets.append(offset)
        ends.append(batch_end)
        times.add(time_ms)
        end_offset = offset + delta + 1
        position = batch_end
    return SegmentContent(batches, offsets, ends, times, first_ms, end_offset, problem)


def _has_right_crc(batch: bytes) -> bool:
    found = crc32c(batch[CRC_START:]) if len(batch) < LONG_BATCH_BYTES else crc32c_of_long(batch)
    return found == int.from_bytes(batch[CRC_POSITION:CRC_START], "big")


def end_offset_from(data: "bytes | mmap", base_offset: int, position: int) -> int:
    """The offset after the last whole batch at or after `position`, where a batch begins."""
    end_offset = base_offset
    size = len(data)
    while size - position >= HEADER_BYTES:
        offset, length, magic, delta, _, _ = _FIELDS(data, position)
        position += length + LENGTH_END
        if magic != 2 or length + LENGTH_END < HEADER_BYTES or position > size:
            break
        end_offset = offset + delta + 1
    return end_offset


def index_entries(segment: Segment, interval_bytes: int) -> tuple[list[OffsetIndexEntry], list[TimeIndexEntry]]:
    """The entries of the offset index and of the time index of a segment that is closed, as Kafka makes them."""
    offset_index: list[OffsetIndexEntry] = []
    time_index: list[TimeIndexEntry] = []
    unindexed_bytes = start = 0
    largest_ms = last_time_ms = -1
    offset_of_largest = segment.base_offset
    for batch, offset, end in zip(segment.batches, segment.offsets, segment.ends, strict=True):
        _, _, _, delta, max_ms, _ = _FIELDS(batch)
        last_offset = offset + delta
        if max_ms > largest_ms:
            largest_ms, offset_of_largest = max_ms, last_offset
        if unindexed_bytes > interval_bytes:
            offset_index.append(OffsetIndexEntry(last_offset, start))
            if largest_ms > last_time_ms:
                time_index.append(TimeIndexEntry(largest_ms, offset_of_largest))
                last_time_ms = largest_ms
            unindexed_bytes = 0
        unindexed_bytes += end - start
        start = end
    if largest_ms > last_time_ms:
        time_index.append(TimeIndexEntry(largest_ms, offset_of_largest))
    return offset_index, time_index
