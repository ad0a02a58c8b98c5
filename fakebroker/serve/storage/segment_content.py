"""What is in a .log file: its batches, and the arrays beside them that a segment in memory has."""

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from fakebroker.broker.core.logs.running_maximum import RunningMaximum
from fakebroker.broker.core.logs.segment import Segment
from fakebroker.protocol.records.batch import crc32c_between
from fakebroker.protocol.records.batch_format import CRC_START, HEADER_BYTES, LENGTH_END
from fakebroker.protocol.records.search import BEFORE_EVERY_TIMESTAMP
from fakebroker.protocol.storage.indexes import OffsetIndexEntry, TimeIndexEntry

if TYPE_CHECKING:
    from mmap import mmap

BATCHES_OF_PART = 500  # that are read without a pause, which takes less than 1 ms
BYTES_OF_PART = 1 << 20
BYTES_AS_A_BATCH = 1024  # to copy so much takes as long as to read a batch
_MAX_OFFSET = (1 << 63) - 2  # the end of a log, one more, is a number of 64 bits, too
_MAX_RELATIVE_OFFSET = (1 << 31) - 1  # of a segment, whose indexes have offsets of 32 bits
_NO_INDEX = 1 << 62  # bytes between two entries of an index that nobody asks for

# Base offset, length, magic, checksum, last offset delta, max timestamp, producer id, number of records.
_FIELDS = Struct(">qi4xbI2xi8xqq6xi").unpack_from


class NotWhole(Exception):
    """A .log file has something else than a whole batch; the text says what, and where."""


def whole_batches(
    data: "bytes | mmap", end_offset: int, position: int = 0, *, check_crc: bool
) -> Iterator[tuple[int, int, int, int, int, int, int]]:
    """Start, end, first offset, last offset, largest timestamp, producer id and number of records of each batch.

    They begin at `position`, where offsets up to `end_offset` are taken. Raises NotWhole at the first batch that is not
    whole, or, with `check_crc`, is damaged.
    """
    size, limit = len(data), min(end_offset + _MAX_RELATIVE_OFFSET, _MAX_OFFSET)
    while position < size:
        if size - position < HEADER_BYTES:
            raise NotWhole(f"{size - position} bytes at position {position} are too few for a batch")
        offset, length, magic, crc, delta, max_ms, producer_id, count = _FIELDS(data, position)
        batch_end = position + length + LENGTH_END
        if (
            magic != 2
            or batch_end - position < HEADER_BYTES
            or offset < end_offset
            or delta < 0
            or offset + delta > limit
        ):
            raise NotWhole(f"no batch begins at position {position}")
        if batch_end > size:
            raise NotWhole(f"the batch at position {position} is cut off after {size - position} bytes")
        if check_crc and crc32c_between(data, position + CRC_START, batch_end) != crc:
            raise NotWhole(f"the batch at position {position} is damaged: its checksum is wrong")
        yield position, batch_end, offset, offset + delta, max_ms, producer_id, count
        end_offset = offset + delta + 1
        position = batch_end


class SegmentContent:
    """The whole batches of a .log file, as far as it was read, and the arrays beside them.

    `problem` says why reading ended before the end of the file.
    """

    __slots__ = (
        "_end_of_indexed",
        "_index_interval_bytes",
        "_looked_at",
        "batches",
        "end_offset",
        "ends",
        "first_timestamp_ms",
        "index_entries",
        "offsets",
        "problem",
        "times",
    )

    def __init__(self, base_offset: int, index_interval_bytes: int) -> None:
        self.batches: list[bytes] = []
        self.offsets, self.ends, self.times = array("q"), array("q"), RunningMaximum()
        self.first_timestamp_ms = BEFORE_EVERY_TIMESTAMP
        self.end_offset = base_offset  # one more than the last offset
        self.problem: str | None = None
        self.index_entries = 0
        self._index_interval_bytes = index_interval_bytes
        self._end_of_indexed = 0  # where the batch begins that has the last entry
        self._looked_at = 0  # how many batches were counted for entries

    @property
    def size_bytes(self) -> int:
        """Bytes of the whole batches."""
        return self.ends[-1] if self.ends else 0

    def read_on(self, data: "bytes | mmap", *, check_crc: bool = False) -> int:
        """Read a part of the file, which is the same as before, up to the first batch that is not whole.

        With `check_crc` a damaged one is not whole. Returns the cost in batches; 0 when all was read.
        """
        batches, before_bytes, largest_ms = self.batches, self.size_bytes, self.times.largest()
        before, limit = len(batches), before_bytes + BYTES_OF_PART
        offsets, ends, maxima = self.offsets, self.ends, self.times.maxima
        found = whole_batches(data, self.end_offset, before_bytes, check_crc=check_crc)
        try:
            for start, end, offset, last_offset, max_ms, _, count in islice(found, BATCHES_OF_PART):
                if count and max_ms > largest_ms:
                    largest_ms = max_ms
                maxima.append(largest_ms)
                batches.append(data[start:end])
                offsets.append(offset)
                ends.append(end)
                self.end_offset = last_offset + 1
                if end > limit:
                    break
        except NotWhole as problem:
            self.problem = str(problem)
        if maxima and not before:
            self.first_timestamp_ms = maxima[0]
        self._count_entries()
        return len(batches) - before + (self.size_bytes - before_bytes) // BYTES_AS_A_BATCH

    def put_into(self, segment: Segment) -> None:
        """Give a segment this content."""
        segment.batches, segment.offsets, segment.ends = self.batches, self.offsets, self.ends
        segment.times, segment.first_timestamp_ms = self.times, self.first_timestamp_ms
        segment.index_entries, segment.unindexed_bytes = self.index_entries, self.size_bytes - self._end_of_indexed

    def _count_entries(self) -> None:
        """Count the entries of the offset index that the batches have which were read last, as `Segment.add` does."""
        ends, interval_bytes = self.ends, self._index_interval_bytes
        last = len(ends) - 1  # where it ends, no batch begins yet
        while True:
            at = bisect_right(ends, self._end_of_indexed + interval_bytes, self._looked_at)
            if at >= last:
                break
            self.index_entries += 1
            self._end_of_indexed, self._looked_at = ends[at], at
        self._looked_at = max(last, 0)


def read_content(data: "bytes | mmap", base_offset: int, *, check_crc: bool) -> SegmentContent:
    """Read the batches of a segment up to the first that is not whole, or, with `check_crc`, is damaged."""
    content = SegmentContent(base_offset, _NO_INDEX)
    while content.read_on(data, check_crc=check_crc):
        pass
    return content


class CheckedContent(NamedTuple):
    """What a check has found in a .log file, of which nothing stays in memory."""

    size_bytes: int  # of the whole batches
    end_offset: int  # one more than the last offset
    largest_ms: int  # BEFORE_EVERY_TIMESTAMP when no search may find anything in it
    has_producers: bool  # whether any batch is of a producer that is idempotent
    offset_index: list[OffsetIndexEntry]
    time_index: list[TimeIndexEntry]
    problem: str | None


def check_content(data: "bytes | mmap", base_offset: int, index_interval_bytes: int) -> CheckedContent:
    """Check the batches of a segment up to the first that is not whole or is damaged, and make its indexes."""
    size_bytes, end_offset, problem = 0, base_offset, None
    largest_ms, has_producers = BEFORE_EVERY_TIMESTAMP, False
    indexes = _Indexes(base_offset, index_interval_bytes)
    try:
        for start, end, _, last_offset, max_ms, producer_id, count in whole_batches(data, base_offset, check_crc=True):
            indexes.add(start, end, last_offset, max_ms)
            if count and max_ms > largest_ms:
                largest_ms = max_ms
            has_producers |= producer_id >= 0
            size_bytes, end_offset = end, last_offset + 1
    except NotWhole as found:
        problem = str(found)
    return CheckedContent(size_bytes, end_offset, largest_ms, has_producers, *indexes.entries(), problem)


def end_from(data: "bytes | mmap", base_offset: int, position: int) -> tuple[int, int]:
    """The offset after the last whole batch at or after `position`, where a batch begins, and where that batch ends."""
    end_offset = base_offset
    size = len(data)
    while size - position >= HEADER_BYTES:
        offset, length, magic, _, delta, _, _, _ = _FIELDS(data, position)
        end = position + length + LENGTH_END
        if magic != 2 or length + LENGTH_END < HEADER_BYTES or end > size:
            break
        position, end_offset = end, offset + delta + 1
    return end_offset, position


def index_entries(segment: Segment, interval_bytes: int) -> tuple[list[OffsetIndexEntry], list[TimeIndexEntry]]:
    """The entries of the offset index and of the time index of a segment that is closed, as Kafka makes them."""
    indexes, start = _Indexes(segment.base_offset, interval_bytes), 0
    for batch, offset, end in zip(segment.batches, segment.offsets, segment.ends, strict=True):
        _, _, _, _, delta, max_ms, _, _ = _FIELDS(batch)
        indexes.add(start, end, offset + delta, max_ms)
        start = end
    return indexes.entries()


class _Indexes:
    """Makes the entries of the indexes of a segment from its batches, oldest first."""

    def __init__(self, base_offset: int, interval_bytes: int) -> None:
        self._interval_bytes = interval_bytes
        self._offset_index: list[OffsetIndexEntry] = []
        self._time_index: list[TimeIndexEntry] = []
        self._unindexed_bytes = 0
        self._largest_ms = self._last_time_ms = -1
        self._offset_of_largest = base_offset

    def add(self, start: int, end: int, last_offset: int, max_ms: int) -> None:
        if max_ms > self._largest_ms:
            self._largest_ms, self._offset_of_largest = max_ms, last_offset
        if self._unindexed_bytes > self._interval_bytes:
            self._offset_index.append(OffsetIndexEntry(last_offset, start))
            self._add_time()
            self._unindexed_bytes = 0
        self._unindexed_bytes += end - start

    def entries(self) -> tuple[list[OffsetIndexEntry], list[TimeIndexEntry]]:
        """All entries: the segment is closed."""
        self._add_time()
        return self._offset_index, self._time_index

    def _add_time(self) -> None:
        if self._largest_ms > self._last_time_ms:
            self._time_index.append(TimeIndexEntry(self._largest_ms, self._offset_of_largest))
            self._last_time_ms = self._largest_ms
