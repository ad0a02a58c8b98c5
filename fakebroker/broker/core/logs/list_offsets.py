"""ListOffsets on one partition: the special timestamps, the search by time, the segment starts of v0 (KIP-79, LO).

Kafka: `ReplicaManager.fetchOffset`, `UnifiedLog.fetchOffsetByTimestamp`, `legacyFetchOffsetsBefore`.
"""

from collections.abc import Generator
from typing import TYPE_CHECKING

from fakebroker.broker.core.logs.fetching import CONSUMER_REPLICA_ID
from fakebroker.broker.core.logs.log import PartitionLog
from fakebroker.broker.core.logs.log_time_search import FoundOffset
from fakebroker.broker.core.stale_view import StaleView
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.records.search import BEFORE_EVERY_TIMESTAMP

if TYPE_CHECKING:
    from fakebroker.broker.core.topics import Partition

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LAST_TIERED = -5
EARLIEST_PENDING_UPLOAD = -6
UNKNOWN = -7  # stands for this and everything below
ANY_TIME = BEFORE_EVERY_TIMESTAMP + 1  # a search that any record ends

DEBUGGING_REPLICA_ID = -2  # of a client that may read from any replica


NOT_FOUND = FoundOffset(-1, -1, -1)


def error_for_lookup(partition: "Partition", node_id: int, current_leader_epoch: int, replica_id: int) -> ErrorCode:
    """Why broker `node_id` may not answer, or NONE; only debuggers may ask a follower (LO-1, LO-5, LO-8)."""
    only_leader = replica_id != DEBUGGING_REPLICA_ID
    return partition.error_for_access(node_id, current_leader_epoch, only_leader=only_leader)


def is_search(target: int) -> bool:
    """Whether records are looked at for a timestamp."""
    return target >= 0 or target in (MAX_TIMESTAMP, ANY_TIME)


def find_offset(
    log: PartitionLog, target: int, replica_id: int, *, read_committed: bool, seen: StaleView | None = None
) -> Generator[None, None, FoundOffset]:
    """The answer for a timestamp or one of the special values; whether its version knows the value is checked before.

    A search in a large batch goes on in steps; each yields. Raises KafkaError: OFFSET_NOT_AVAILABLE while the high
    watermark has not reached the start of the leader's epoch (LO-14).
    """
    if target in (EARLIEST, EARLIEST_LOCAL):
        return FoundOffset(-1, log.log_start_offset, log.epochs.first())
    if target in (LAST_TIERED, EARLIEST_PENDING_UPLOAD):
        return NOT_FOUND
    is_consumer = replica_id == CONSUMER_REPLICA_ID
    end = log.last_fetchable_offset(is_consumer=is_consumer, read_committed=read_committed)
    if seen is not None:  # the broker was replaced as the leader and does not know (CLU-44)
        end = min(end, seen.last_stable_offset if read_committed else seen.high_watermark)
    if target == LATEST and seen is not None:
        return FoundOffset(-1, end if is_consumer else seen.log_end_offset, seen.leader_epoch)
    if target == LATEST:
        if is_consumer:
            _check_high_watermark(log)
        return FoundOffset(-1, end, log.epochs.latest)
    steps = log.find_max_timestamp(end) if target == MAX_TIMESTAMP else log.find_by_timestamp(target, end)
    found = yield from steps
    if found is not None:
        return found
    if is_consumer:
        _check_high_watermark(log)
    return NOT_FOUND


def find_segment_offsets(log: PartitionLog, target: int, count: int, replica_id: int, now_ms: int) -> list[int]:
    """At most `count` segment starts from the one for `target` backwards, as ListOffsets v0 wants them (LO-18..21)."""
    starts = log.segment_starts(now_ms)
    if target == LATEST:
        last = len(starts) - 1
    elif target == EARLIEST:
        last = 0
    else:
        last = max((at for at, (_, modified_ms) in enumerate(starts) if modified_ms <= target), default=-1)
    wanted = starts[max(last + 1 - max(count, 0), 0) : last + 1]
    offsets = [offset for offset, _ in reversed(wanted)]
    if replica_id == CONSUMER_REPLICA_ID and offsets and offsets[0] > log.high_watermark:
        offsets = [log.high_watermark] + [offset for offset in offsets if offset <= log.high_watermark]  # LO-19
    return offsets


def _check_high_watermark(log: PartitionLog) -> None:
    entries = log.epochs.entries()  # none in a log of old message formats
    epoch_start = entries[-1][1] if entries else 0
    if log.high_watermark < epoch_start:
        raise KafkaError(
            ErrorCode.OFFSET_NOT_AVAILABLE,
            f"{log.name}: the high watermark {log.high_watermark} has not reached the epoch's start {epoch_start}",
        )
