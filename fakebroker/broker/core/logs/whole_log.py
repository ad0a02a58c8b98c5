"""Reading a log from its start to its end in steps, between which it may be written to, cleaned or cut."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from fakebroker.broker.core.logs.segment import Segment, last_offset
from fakebroker.broker.core.logs.unloaded_segments import BATCHES_PER_STEP, before_append, before_read, has_unloaded
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.records.batch import parse_header

if TYPE_CHECKING:
    from fakebroker.broker.core.logs.log import PartitionLog

_BATCHES_AT_ONCE = 200  # found by one search
_RECORDS_AT_ONCE = 500  # whose bytes are built together


def batches_in_steps(log: "PartitionLog", end_offset: Callable[[], int]) -> Iterator[bytes | None]:
    """Every stored batch from the log's start to what `end_offset` says at last; None where a pause is due.

    Pauses are for batches that have to be stored first (pending_batches.py), and for segments that have to be loaded;
    the active one is, even if nothing is read of it. Whoever reads the batches makes others.
    """
    offset, pace = log.log_start_offset, Pace(BATCHES_PER_STEP)
    for _ in before_append(log, pace):
        yield None
    while offset < end_offset():
        for _ in before_read(log, offset, pace):
            yield None
        found = _stored_from(log, offset)
        if not found:
            log.materialize_pending(_RECORDS_AT_ONCE)
            yield None
            found = _stored_from(log, offset)
        if not found:
            return
        yield from found
        offset = max(parse_header(found[-1]).last_offset + 1, log.log_start_offset)


def _stored_from(log: "PartitionLog", offset: int) -> list[bytes]:
    """Some stored batches that end at or after `offset`, the first ones; none if all are before it."""
    at = max(log.segments.bisect_right(offset) - 1, 0)
    segment: Segment
    for segment in log.segments.values()[at:]:
        index = segment.batch_index_of(offset)
        if index < len(segment.batches):
            return segment.batches[index : index + _BATCHES_AT_ONCE]
    return []


def count_records(log: "PartitionLog", most: int) -> int:
    """How many records there are to read, as far as their offsets tell: at least so many. It stops beyond `most`."""
    count, next_offset = 0, log.log_start_offset
    segments: Iterable[Segment] = log.segments.values()
    if has_unloaded(log):  # it is not loaded to be counted
        return log.log_end_offset - next_offset
    for batch, base_offset in chain.from_iterable(zip(each.batches, each.offsets, strict=True) for each in segments):
        last = last_offset(batch, base_offset)
        count += max(last - max(base_offset, next_offset) + 1, 0)
        next_offset = max(next_offset, last + 1)
        if count > most:
            return count
    return count + log.log_end_offset - next_offset
