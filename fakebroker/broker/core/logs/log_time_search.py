"""The last step of a search by time: from the batch that an index names to the record in it (LO-11, LO-16)."""

from typing import TYPE_CHECKING, NamedTuple

from fakebroker.broker.core.logs.segment import Segment
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.records.batch import parse_header
from fakebroker.protocol.records.faults import InvalidRecord
from fakebroker.protocol.records.search import find_record

if TYPE_CHECKING:
    from fakebroker.broker.core.logs.log import PartitionLog


class FoundOffset(NamedTuple):
    """What ListOffsets answers: an offset with the timestamp and leader epoch that go with it, -1 for none (LO-9)."""

    timestamp_ms: int
    offset: int
    leader_epoch: int


def search_batch(log_name: str, batch: bytes, target_ms: int, from_offset: int) -> FoundOffset | None:
    """The first record of a batch from `from_offset` on whose timestamp is >= `target_ms`.

    Raises KafkaError(CORRUPT_MESSAGE) when the batch was corrupted by a test.
    """
    try:
        hit = find_record(batch, target_ms, from_offset)
    except InvalidRecord as fault:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"{log_name}: {fault.message}") from None
    if hit is None:
        return None
    offset, timestamp_ms = hit
    return FoundOffset(timestamp_ms, offset, parse_header(batch).leader_epoch)


def search_from(log: "PartitionLog", segment: Segment, index: int, target_ms: int) -> FoundOffset | None:
    """The first record that `search_batch` finds from the batch of that index in `segment` on, above the log start.

    It is nearly always in that batch, the first whose header promises the time. Only if a client has set
    LOG_APPEND_TIME_BIT no record may have what the header promises (PD-21).
    """
    found = search_batch(log.name, segment.batches[index], target_ms, log.log_start_offset)
    if found is not None:
        return found
    at = log.segments.index(segment.base_offset)
    for other in log.segments.values()[at:]:
        for batch in other.batches[index + 1 if other is segment else 0 :]:
            if parse_header(batch).max_timestamp_ms >= target_ms:
                found = search_batch(log.name, batch, target_ms, log.log_start_offset)
                if found is not None:
                    return found
    return None
