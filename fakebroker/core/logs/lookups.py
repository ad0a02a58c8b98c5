"""Questions about the offsets of one partition: who may answer them, and ListOffsets' special timestamps (LO, OE)."""

from typing import TYPE_CHECKING, NamedTuple

from fakebroker.core.logs.log import PartitionLog
from fakebroker.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from fakebroker.core.topics import Partition

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LAST_TIERED = -5
EARLIEST_PENDING_UPLOAD = -6

CONSUMER = -1  # replica_id of a client
DEBUGGING = -2  # replica_id of a client that may read from any replica (LO-8)


class Answer(NamedTuple):
    """An offset with the timestamp and leader epoch that go with it, all -1 when nothing was found."""

    timestamp_ms: int
    offset: int
    leader_epoch: int


NOT_FOUND = Answer(-1, -1, -1)


def check_leader(partition: "Partition", node_id: int, current_leader_epoch: int, replica_id: int = CONSUMER) -> None:
    """May broker `node_id` answer for the partition, to a client that believes in this epoch (-1: none)?

    Raises KafkaError: 6 without a replica here; 74 or 75 for another epoch; 6 when another broker leads (LO-1, LO-5).
    """
    if node_id not in partition.replicas or partition.leader == -1:
        raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"broker {node_id} has no leader for {partition!r}")
    if current_leader_epoch != -1 and current_leader_epoch != partition.leader_epoch:
        older = current_leader_epoch < partition.leader_epoch
        code = ErrorCode.FENCED_LEADER_EPOCH if older else ErrorCode.UNKNOWN_LEADER_EPOCH
        raise KafkaError(code, f"epoch {current_leader_epoch}, the partition is at {partition.leader_epoch}")
    if partition.leader != node_id and replica_id != DEBUGGING:
        raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"broker {partition.leader} leads {partition!r}")


def last_fetchable(log: PartitionLog, replica_id: int, *, read_committed: bool) -> int:
    """The offset up to which this reader may read (LO-10)."""
    if replica_id != CONSUMER:
        return log.log_end_offset
    return log.last_stable_offset if read_committed else log.high_watermark


def find_offset(log: PartitionLog, target: int, replica_id: int, *, read_committed: bool) -> Answer:
    """The answer for a timestamp or one of the special values; whether its version knows the value is checked before.

    Raises KafkaError: OFFSET_NOT_AVAILABLE while the high watermark is behind the leader's epoch (LO-14).
    """
    if target in (EARLIEST, EARLIEST_LOCAL):
        return Answer(-1, log.log_start_offset, log.epochs.first())
    if target in (LAST_TIERED, EARLIEST_PENDING_UPLOAD):
        return NOT_FOUND
    end = last_fetchable(log, replica_id, read_committed=read_committed)
    if target == LATEST:
        if replica_id == CONSUMER:
            _check_high_watermark(log)
        return Answer(-1, end, log.epochs.latest())
    found = log.find_max_timestamp(end) if target == MAX_TIMESTAMP else log.find_by_timestamp(target, end)
    if found is not None:
        return Answer(*found)
    if replica_id == CONSUMER:
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
    offsets = sorted((offset for offset, _ in starts[: last + 1]), reverse=True)[: max(count, 0)]
    if replica_id == CONSUMER and offsets and offsets[0] > log.high_watermark:
        offsets = [log.high_watermark] + [offset for offset in offsets if offset <= log.high_watermark]  # LO-19
    return offsets


def _check_high_watermark(log: PartitionLog) -> None:
    epoch_start = log.epochs.entries()[-1][1]
    if log.high_watermark < epoch_start:
        raise KafkaError(
            ErrorCode.OFFSET_NOT_AVAILABLE,
            f"{log.name}: the high watermark {log.high_watermark} is behind the epoch's start {epoch_start}",
        )
