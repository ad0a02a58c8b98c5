"""The same history with a commit that never happened: its record is taken out of `__consumer_offsets`."""

from collections.abc import Sequence

from fakebroker.broker.core.cluster_state import ClusterState, LogState, PartitionState, SegmentState, segment_state
from fakebroker.broker.core.java_hash import partition_of
from fakebroker.broker.core.logs.config import LogConfig
from fakebroker.broker.core.logs.segment import Segment
from fakebroker.broker.core.topics import CONSUMER_OFFSETS
from fakebroker.protocol.errors import UnknownThing, WireError
from fakebroker.protocol.records.batch import parse_header, read_records
from fakebroker.protocol.records.faults import InvalidRecord
from fakebroker.protocol.records.markers import ControlRecordType, control_record_type
from fakebroker.protocol.records.offsets_codec import read_entry
from fakebroker.protocol.records.offsets_topic import OffsetEntry
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.records.rewrite import rebuild
from fakebroker.protocol.records.search import BEFORE_EVERY_TIMESTAMP

Commit = tuple[str, str, int]
"""Group, topic, partition."""


def without_latest_commit(state: ClusterState, commit: Commit) -> ClusterState:
    """The cluster as if the group's latest commit for the partition had not happened: the one before it counts again.

    Other offsets of the same OffsetCommit stay. The offset of the record becomes a gap in the log, as after compaction.
    Raises UnknownThing if the group has no committed offset for the partition.
    """
    group_id = commit[0]
    topics = {topic.name: topic for topic in state.topics}
    topic = topics.get(CONSUMER_OFFSETS)
    index = partition_of(group_id, len(topic.partitions)) if topic is not None else 0
    partition = topic.partitions[index] if topic is not None else None
    if topic is None or partition is None or partition.log is None:
        raise _unknown(commit, "the group has no commits")
    changed = partition._replace(log=_without_latest(partition.log, commit))
    partitions: tuple[PartitionState, ...] = (*topic.partitions[:index], changed, *topic.partitions[index + 1 :])
    topics[CONSUMER_OFFSETS] = topic._replace(partitions=partitions)
    return state._replace(topics=tuple(topics.values()))


def _without_latest(log: LogState, commit: Commit) -> LogState:
    """Look from the end of the log for the latest record about the partition that counts.

    Of a transaction only what was committed counts. On the way back a transaction's marker comes before its records.
    """
    is_committed: dict[int, bool] = {}  # by producer id; one whose transaction is open is not there
    for place in reversed(range(len(log.segments))):
        segment = log.segments[place]
        for index in reversed(range(len(segment.batches))):
            batch = segment.batches[index]
            found = _latest_in(batch, commit) if _counts(batch, is_committed) else None
            if found is not None:
                record, is_tombstone = found
                if is_tombstone:
                    raise _unknown(commit, "the latest was deleted or has expired")
                changed = _with_batch(segment, index, _without(batch, record))
                return log._replace(segments=(*log.segments[:place], changed, *log.segments[place + 1 :]))
    raise _unknown(commit, "the group has no commit for it")


def _counts(batch: bytes, is_committed: dict[int, bool]) -> bool:
    """Whether the records of a batch are in no transaction, or in one that was committed; notes what a marker says."""
    try:
        header = parse_header(batch)
        if header.is_control:
            for record in read_records(batch):
                is_committed[header.producer_id] = control_record_type(record.key) == ControlRecordType.COMMIT
            return False
    except (WireError, InvalidRecord):  # a batch that a test corrupted; a load says so
        return False
    return not header.is_transactional or is_committed.get(header.producer_id, False)


def _latest_in(batch: bytes, commit: Commit) -> tuple[Record, bool] | None:
    """The last record of a batch that is about the partition, and whether it is a tombstone."""
    try:
        for record in reversed(list(read_records(batch))):
            entry = read_entry(record.key, record.value)
            if isinstance(entry, OffsetEntry) and entry[:3] == commit:
                return record, entry.value is None
    except (WireError, InvalidRecord):
        pass
    return None


def _without(batch: bytes, lost: Record) -> bytes | None:
    """The batch without one of its records, None if that leaves nothing."""
    kept = [record for record in read_records(batch) if record.offset != lost.offset]
    return rebuild(parse_header(batch), kept) if kept else None


def _with_batch(state: SegmentState, index: int, batch: bytes | None) -> SegmentState:
    """The segment with another batch at an index, or without one."""
    segment = Segment(state.base_offset, state.created_ms)
    batches: Sequence[bytes | None] = (*state.batches[:index], batch, *state.batches[index + 1 :])
    for each, offset in zip(batches, state.offsets, strict=True):
        if each is not None:
            header = parse_header(each)
            time_ms = header.max_timestamp_ms if header.records_count else BEFORE_EVERY_TIMESTAMP
            segment.add(each, offset, time_ms, state.modified_ms, LogConfig().index_interval_bytes)
    return segment_state(segment)._replace(modified_ms=state.modified_ms)


def _unknown(commit: Commit, why: str) -> UnknownThing:
    group_id, topic, partition = commit
    what = f"cannot lose a commit of group {group_id!r} for {topic}-{partition}: {why}"
    return UnknownThing("lost_commits", commit, what)
