"""The last part of a search by time: from the batch that an index names to the record in it (LO-11, LO-16).

It goes on in steps: the batch may be unpacked to very much. What changes in the log meanwhile does not count.
"""

from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from fakebroker.broker.core.logs.segment import Segment
from fakebroker.broker.core.logs.unloaded_segments import BATCHES_PER_STEP, has_unloaded, load
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.records.batch import parse_header
from fakebroker.protocol.records.faults import InvalidRecord
from fakebroker.protocol.records.search import find_record, max_timestamp_of

if TYPE_CHECKING:
    from fakebroker.broker.core.logs.log import PartitionLog


class FoundOffset(NamedTuple):
    """What ListOffsets answers: an offset with the timestamp and leader epoch that go with it, -1 for none (LO-9)."""

    timestamp_ms: int
    offset: int
    leader_epoch: int


Search = Generator[None, None, FoundOffset | None]
"""A search in steps; it returns what was found, or None."""

HEADERS_PER_STEP = 20_000


def find_by_timestamp(log: "PartitionLog", target_ms: int, end: int) -> Search:
    """See PartitionLog."""
    log.materialize_pending()
    if log.store is not None:
        yield from _before_search(log, target_ms)
    position = log.time_index.first_reaching(target_ms)
    if position is None:
        return None
    segment, at = position
    found = yield from search_from(log, segment, at, target_ms)
    return found if found is not None and found.offset < end else None


def find_max_timestamp(log: "PartitionLog", end: int) -> Search:
    """See PartitionLog."""
    log.materialize_pending()
    if log.store is not None:
        yield from _before_search(log, None)
    position = log.time_index.largest()
    if position is None:
        return None
    segment, at = position
    found = yield from search_batch(log.name, segment.batches[at], segment.times.maxima[at], 0)
    return found if found is not None and found.offset < end else None


def _before_search(log: "PartitionLog", target_ms: int | None) -> Generator[None, None, None]:
    """Load what a search looks at first; None searches for the largest timestamp of all.

    Raises KafkaError(UNKNOWN_TOPIC_OR_PARTITION) if the topic is deleted meanwhile: its files are gone.
    """
    pace = Pace(BATCHES_PER_STEP)
    while has_unloaded(log) and (segment := _first_unloaded(log, target_ms)) is not None:
        yield from load(log, segment, pace)
    if log.store is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{log.name} was deleted")


def _first_unloaded(log: "PartitionLog", target_ms: int | None) -> Segment | None:
    """What is not in memory and needed for the index of times, or else holds what it leads to."""
    start = log.log_start_offset
    segments: Sequence[Segment] = log.segments.values()
    for segment, next_offset in zip(segments, [*log.segments.keys()[1:], log.log_end_offset], strict=True):
        is_cut = segment.base_offset < start < next_offset
        if not segment.is_loaded and (is_cut or not segment.knows_largest_timestamp):
            return segment
    times = log.time_index
    found = times.segment_of_largest() if target_ms is None else times.segment_reaching(target_ms)
    return None if found is None or found.is_loaded else found


def search_batch(log_name: str, batch: bytes, target_ms: int, from_offset: int) -> Search:
    """The first record of a batch from `from_offset` on whose timestamp is >= `target_ms`.

    Raises KafkaError(CORRUPT_MESSAGE) when the batch was corrupted by a test.
    """
    try:
        hit = yield from find_record(batch, target_ms, from_offset)
    except InvalidRecord as fault:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"{log_name}: {fault.message}") from None
    if hit is None:
        return None
    offset, timestamp_ms = hit
    return FoundOffset(timestamp_ms, offset, parse_header(batch).leader_epoch)


def search_from(log: "PartitionLog", segment: Segment, index: int, target_ms: int) -> Search:
    """The first record that `search_batch` finds from the batch of that index in `segment` on, above the log start.

    It is nearly always in that batch, the first whose header promises the time. No record may have what the header
    promises if the log start cuts the batch, or a client has set LOG_APPEND_TIME_BIT (PD-21).
    """
    start, pace = log.log_start_offset, Pace(HEADERS_PER_STEP)
    found = yield from search_batch(log.name, segment.batches[index], target_ms, start)
    if found is not None:
        return found
    for batch in _batches_after(log, segment, index):
        if batch is None:
            yield
        elif max_timestamp_of(batch) >= target_ms:
            found = yield from search_batch(log.name, batch, target_ms, start)
            if found is not None:
                return found
            yield
        if pace.is_over():
            yield
    return None


def _batches_after(log: "PartitionLog", segment: Segment, index: int) -> Iterator[bytes | None]:
    """The batches after the one of that index in `segment`, as far as there are now; None where a pause is due."""
    later = [other for other in log.segments.values() if other.base_offset > segment.base_offset]
    yield from segment.batches[index + 1 :]
    pace = Pace(BATCHES_PER_STEP)
    for other in later:
        if has_unloaded(log):
            for _ in load(log, other, pace):
                yield None
        if other.is_loaded:
            yield from other.batches[:]
