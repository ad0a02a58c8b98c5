"""Segments of a log on disk that nobody has used since the start: their batches are not in memory yet.

What a request or a pass needs of them is loaded in steps before it begins, so that others are served meanwhile; with
small batches 100 MB take some 2 s. Whatever uses one that was not loaded has it loaded in the same turn: that is for
what cannot wait, such as a test's handles, a snapshot and the stop.
"""

from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING, Final

from fakebroker.broker.core.logs.segment import Segment
from fakebroker.protocol.pace import Pace

if TYPE_CHECKING:
    from fakebroker.broker.core.logs.log import PartitionLog

BATCHES_PER_STEP: Final = 5_000

Steps = Generator[None, None, None]
"""Raises KafkaError(KAFKA_STORAGE_ERROR) for a file that cannot be read."""


def has_unloaded(log: "PartitionLog") -> bool:
    """Whether any segment of a log is not in memory. Most requests ask only this."""
    return log.store is not None and log.store.has_unloaded


def is_unloaded_at(log: "PartitionLog", offset: int) -> bool:
    """Whether a read from an offset on would have to load something."""
    return _first_unloaded(log, offset) is not None


def before_read(log: "PartitionLog", offset: int, pace: Pace) -> Steps:
    """Load what a read from an offset on looks at."""
    while has_unloaded(log) and (segment := _first_unloaded(log, offset)) is not None:
        yield from load(log, segment, pace)


def before_append(log: "PartitionLog", pace: Pace) -> Steps:
    """Load the active segment."""
    while has_unloaded(log) and not (active := _active(log)).is_loaded:
        yield from load(log, active, pace)


def before_cleaning(log: "PartitionLog", pace: Pace) -> Steps:
    """Load the closed segments."""
    while has_unloaded(log) and (segment := _unloaded_of(log.segments.values()[:-1])) is not None:
        yield from load(log, segment, pace)


def load(log: "PartitionLog", segment: Segment, pace: Pace) -> Steps:
    """Load a segment. If the log loses it meanwhile, or its files are gone with its topic, that ends."""
    for _ in segment.load_in_steps(pace):
        yield
        if log.store is None or log.segments.get(segment.base_offset) is not segment:
            return
    if log.store is not None:
        log.store.has_unloaded = _unloaded_of(log.segments.values()) is not None


def _first_unloaded(log: "PartitionLog", offset: int) -> Segment | None:
    """The first segment not in memory among those that `PartitionLog.read` looks at; None if the read finds nothing."""
    if not log.log_start_offset <= offset < log.log_end_offset:
        return None
    segment: Segment
    for _, segment in map(log.segments.peekitem, range(_index_of(log, offset), len(log.segments))):
        if not segment.is_loaded:
            return segment
        if segment.batch_index_of(offset) < len(segment.batches):
            return None
    return None


def _index_of(log: "PartitionLog", offset: int) -> int:
    """Which segment has an offset, or would have it."""
    index: int = log.segments.bisect_right(offset) - 1
    return max(index, 0)


def _active(log: "PartitionLog") -> Segment:
    _, segment = log.segments.peekitem()
    return segment  # type: ignore[no-any-return]


def _unloaded_of(segments: Iterable[Segment]) -> Segment | None:
    return next((each for each in segments if not each.is_loaded), None)
