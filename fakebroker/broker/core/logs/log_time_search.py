"""The last part of a search by time: from the batch that an index names to the record in it (LO-11, LO-16).

It goes on in steps: the batch may be unpacked to very much. What changes in the log meanwhile does not count.
"""

from collections.abc import Generator
from typing import TYPE_CHECKING, NamedTuple

from fakebroker.broker.core.logs.segment import Segment
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

BATCHES_PER_STEP = 20_000  # of which only the header is looked at


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
    start, pace = log.log_start_offset, Pace(BATCHES_PER_STEP)
    found = yield from search_batch(log.name, segment.batches[index], target_ms, start)
    if found is not None:
        return found
    for batch in _batches_after(log, segment, index):
        if max_timestamp_of(batch) >= target_ms:
            found = yield from search_batch(log.name, batch, target_ms, start)
            if found is not None:
                return found
            yield
        if pace.is_over():
            yield
    return None


def _batches_after(log: "PartitionLog", segment: Segment, index: int) -> list[bytes]:
    """The batches that are there now after the one of that index in `segment`."""
    later = [other for other in log.segments.values() if other.base_offset > segment.base_offset]
    return segment.batches[index + 1 :] + [batch for other in later for batch in other.batches]
