"""Reading a log from its start to its end in steps, between which it may be written to, cleaned or cut."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from fakebroker.broker.core.logs.segment import Segment, last_offset
from fakebroker.protocol.records.batch import parse_header

if TYPE_CHECKING:
    from fakebroker.broker.core.logs.log import PartitionLog

_BATCHES_AT_ONCE = 200  # found by one search
_RECORDS_AT_ONCE = 500  # whose bytes are built together


def batches_in_steps(log: "PartitionLog", end_offset: Callable[[], int]) -> Iterator[bytes | None]:
    """Every stored batch from the log's start to what `end_offset` says at last; None where a pause is due.

    Pauses are for batches that have to be stored first (pending_batches.py). Whoever reads the batches makes others.
    """
    offset = log.log_start_offset
    while offset < end_offset():
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
    for batch, base_offset in chain.from_iterable(zip(each.batches, each.offsets, strict=True) for each in segments):
        last = last_offset(batch, base_offset)
        count += max(last - max(base_offset, next_offset) + 1, 0)
        next_offset = max(next_offset, last + 1)
        if count > most:
            return count
    return count + log.log_end_offset - next_offset
