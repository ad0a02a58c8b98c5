"""Which of the oldest segments of a log have to go, and when the next one may (RT)."""

from fakebroker.broker.core.logs.log import PartitionLog
from fakebroker.broker.core.logs.segment import Segment
from fakebroker.broker.core.logs.unloaded_segments import Steps, has_unloaded, load
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import Pace


def retain(log: PartitionLog, now: Instant) -> None:
    """Delete the segments that are due: below the log start, then by size, then by time."""
    _materialize_pending(log)
    for rule in (_below_start, _over_size, _too_old):
        count = rule(log, now.wall_ms)
        if count:
            log.delete_segments(count, now)


def before_retention(log: PartitionLog, now_ms: int, pace: Pace) -> Steps:
    """Load the segments whose times decide and are known from their batches only."""
    while has_unloaded(log) and (segment := _first_unknown(log, now_ms)) is not None:
        yield from load(log, segment, pace)


def _first_unknown(log: PartitionLog, now_ms: int) -> Segment | None:
    config, first = log.config, _oldest(log)
    if first is None or not config.delete or config.retention_ms < 0:
        return None
    for segment in dict.fromkeys([first, *(each for each, _ in _deletable(log))]):
        if not segment.knows_largest_timestamp:
            return segment
        if now_ms - _last_use_ms(segment) <= config.retention_ms:
            return None
    return None


def next_due_ms(log: PartitionLog) -> int | None:
    """The earliest wall time at which `retain` can have something to do as things stand; None is never.

    Only the oldest segment counts: no segment goes before it.
    """
    _materialize_pending(log)
    if _below_start(log, 0) or _over_size(log, 0):
        return 0
    config = log.config
    first = _oldest(log)
    if first is None or not config.delete or config.retention_ms < 0:
        return None
    return _last_use_ms(first) + config.retention_ms + 1


def _materialize_pending(log: PartitionLog) -> None:
    """Build the pending batches of logs with the policy "delete"; only there times and sizes decide."""
    if log.config.delete:
        log.materialize_pending()


def _oldest(log: PartitionLog) -> Segment | None:
    """The oldest segment, None if there is but one and it is empty."""
    first: Segment = log.segments.values()[0]
    return first if len(log.segments) > 1 or not first.is_empty else None


def _below_start(log: PartitionLog, _now_ms: int) -> int:
    """RT-4: segments wholly below the log start go under every policy."""
    count = 0
    for _, end in _deletable(log):
        if end > log.log_start_offset:
            break
        count += 1
    return count


def _over_size(log: PartitionLog, _now_ms: int) -> int:
    """RT-3: oldest segments go while what stays is not below retention.bytes."""
    config = log.config
    if not config.delete or config.retention_bytes < 0:
        return 0
    surplus = log.size_bytes - config.retention_bytes
    count = 0
    for segment, _ in _deletable(log):
        surplus -= segment.size_bytes
        if surplus < 0:
            break
        count += 1
    return count


def _too_old(log: PartitionLog, now_ms: int) -> int:
    """RT-1: oldest segments go while their newest record is older than retention.ms."""
    config = log.config
    if not config.delete or config.retention_ms < 0:
        return 0
    count = 0
    for segment, _ in _deletable(log):
        if now_ms - _last_use_ms(segment) <= config.retention_ms:
            break
        count += 1
    return count


def _deletable(log: PartitionLog) -> list[tuple[Segment, int]]:
    """Segments with their end offsets, oldest first, as far as the high watermark allows (RT-4)."""
    segments = list(log.segments.values())
    ends = [segment.base_offset for segment in segments[1:]] + [log.log_end_offset]
    return [
        (segment, end)
        for segment, end in zip(segments, ends, strict=True)
        if end <= log.high_watermark and (segment is not segments[-1] or not segment.is_empty)
    ]


def _last_use_ms(segment: Segment) -> int:
    """The largest record timestamp; without any the time of the last write, as Kafka's file would tell."""
    largest_ms = segment.largest_timestamp_ms
    return largest_ms if largest_ms >= 0 else segment.modified_ms
