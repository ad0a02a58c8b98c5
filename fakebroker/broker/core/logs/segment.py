"""A segment: a run of stored batches that begins, ends and is deleted together (SE, RT)."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Generator
from struct import Struct
from typing import cast

from fakebroker.broker.core.logs.config import LogConfig
from fakebroker.broker.core.logs.running_maximum import RunningMaximum
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.records.batch_format import LAST_OFFSET_DELTA_POSITION
from fakebroker.protocol.records.search import BEFORE_EVERY_TIMESTAMP

_OFFSET_INDEX_ENTRY_BYTES = 8
_TIME_INDEX_ENTRY_BYTES = 12
_RELATIVE_OFFSET_MAX = 2**31 - 1
_last_offset_delta = Struct(">i").unpack_from


def last_offset(batch: bytes, base_offset: int) -> int:
    """The offset of the last record a stored batch had when it was written (RC-2)."""
    delta: int = _last_offset_delta(batch, LAST_OFFSET_DELTA_POSITION)[0]
    return base_offset + delta


class Segment:
    """Stored batches in offset order, and arrays beside them that bisect can search.

    A batch has the same index in all of them. Batches are the bytes that a fetch hands out.
    """

    __slots__ = (
        "base_offset",
        "batches",
        "created_ms",
        "ends",
        "first_timestamp_ms",
        "index_entries",
        "modified_ms",
        "offsets",
        "times",
        "unindexed_bytes",
    )

    def __init__(self, base_offset: int, created_ms: int) -> None:
        self.base_offset = base_offset
        self.created_ms = created_ms
        self.modified_ms = created_ms  # what Kafka's file would tell: when it was last written to
        self.batches: list[bytes] = []
        self.offsets = array("q")  # base offset of each batch
        self.ends = array("q")  # the segment's size in bytes up to and with each batch
        self.times = RunningMaximum()  # of the batches' largest timestamps
        self.first_timestamp_ms = BEFORE_EVERY_TIMESTAMP  # the first batch's largest, from which segment.ms counts
        self.index_entries = 0  # Kafka's index files: they can be full (SE-1)
        self.unindexed_bytes = 0

    @property
    def is_loaded(self) -> bool:
        """Whether its batches are in memory; those of a log on disk may not be (unloaded_segments.py)."""
        return True

    @property
    def knows_largest_timestamp(self) -> bool:
        """Whether `largest_timestamp_ms` is known without the batches."""
        return True

    def load_in_steps(self, pace: Pace) -> Generator[None, None, None]:  # noqa: ARG002
        """Have its batches in memory; yields when the pace, which counts them, is over. Raises KafkaError."""
        yield from ()

    @property
    def size_bytes(self) -> int:
        """Bytes of all batches."""
        return self.ends[-1] if self.ends else 0

    @property
    def is_empty(self) -> bool:
        """Whether there is no batch in it."""
        return not self.batches

    @property
    def largest_timestamp_ms(self) -> int:
        """The largest timestamp; BEFORE_EVERY_TIMESTAMP when no search may find anything in it."""
        return self.times.largest()

    @property
    def last_offset(self) -> int:
        """The last offset in it; the one before its base offset when it is empty."""
        return last_offset(self.batches[-1], self.offsets[-1]) if self.batches else self.base_offset - 1

    def add(
        self, batch: bytes, base_offset: int, max_timestamp_ms: int, wall_ms: int, index_interval_bytes: int
    ) -> None:
        """Take a stored batch at the end. `max_timestamp_ms` is BEFORE_EVERY_TIMESTAMP if no search may find it."""
        ends, end, maxima = self.ends, len(batch), self.times.maxima
        if self.unindexed_bytes > index_interval_bytes:
            self.index_entries += 1
            self.unindexed_bytes = end
        else:
            self.unindexed_bytes += end
        if ends:
            end += ends[-1]
            largest_ms = maxima[-1]  # as RunningMaximum.add does, whose call would be a third of this
            maxima.append(max_timestamp_ms if max_timestamp_ms > largest_ms else largest_ms)
        else:
            self.first_timestamp_ms = max_timestamp_ms
            maxima.append(max_timestamp_ms)
        self.batches.append(batch)
        self.offsets.append(base_offset)
        ends.append(end)
        self.modified_ms = wall_ms

    def is_full_for(self, size: int, max_timestamp_ms: int, end_offset: int, wall_ms: int, config: LogConfig) -> bool:
        """Whether a batch of `size` bytes that ends at `end_offset` has to go into a new segment (SE-1, LO-30)."""
        ends = self.ends
        if not ends:
            return False
        if ends[-1] + size > config.segment_bytes:
            return True
        if self.first_timestamp_ms >= 0:
            waited_ms = max_timestamp_ms - self.first_timestamp_ms
        else:
            waited_ms = wall_ms - self.created_ms
        if waited_ms > config.roll_ms or end_offset - self.base_offset > _RELATIVE_OFFSET_MAX:
            return True
        entries = self.index_entries
        return entries > 0 and (
            entries >= config.segment_index_bytes // _OFFSET_INDEX_ENTRY_BYTES
            or entries >= config.segment_index_bytes // _TIME_INDEX_ENTRY_BYTES - 1
        )

    def batch_index_of(self, offset: int) -> int:
        """The first batch that ends at or after `offset`; the number of batches if none does."""
        index = bisect_right(self.offsets, offset) - 1
        if index < 0:
            return 0
        return index if last_offset(self.batches[index], self.offsets[index]) >= offset else index + 1

    def read(self, offset: int, max_bytes: int, end: int, *, at_least_one: bool) -> list[bytes]:
        """The batches from `offset` on that begin before `end`, as far as they fit into `max_bytes` (FT-6, FT-9).

        Of the one that does not fit comes the beginning, if it is not the first: clients know that it is not whole. It
        is a view of the stored batch: a client that does not read keeps no copy.
        """
        offsets, ends = self.offsets, self.ends
        first = bisect_left(offsets, offset)
        if first == len(offsets) or offsets[first] != offset:  # most readers go on where a batch begins
            first = self.batch_index_of(offset)
        start = ends[first - 1] if first else 0
        # Most read up to the end: a comparison tells them.
        beyond = len(offsets) if not offsets or end > offsets[-1] else bisect_left(offsets, end)
        limit = start + max_bytes
        fitting = bisect_right(ends, limit, first, beyond)
        if fitting < beyond:
            if fitting <= first:
                fitting = first + 1 if at_least_one else first
            elif ends[fitting - 1] < limit:
                beginning = memoryview(self.batches[fitting])[: limit - ends[fitting - 1]]
                return [*self.batches[first:fitting], cast("bytes", beginning)]
        return self.batches[first:fitting]

    def bytes_between(self, offset: int, end: int) -> int:
        """Bytes of the batches that a read of [offset, end) without a limit gives."""
        first, beyond = self.batch_index_of(offset), bisect_left(self.offsets, end)
        if beyond <= first:
            return 0
        return self.ends[beyond - 1] - (self.ends[first - 1] if first else 0)

    def truncate(self, index: int) -> None:
        """Keep the first `index` batches."""
        del self.batches[index:], self.offsets[index:], self.ends[index:]
        self.times.truncate(index)
        if not index:
            self.first_timestamp_ms = BEFORE_EVERY_TIMESTAMP
