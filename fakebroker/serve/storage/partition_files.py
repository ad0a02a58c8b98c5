"""The files of one partition: what its log has in memory is appended to them, and what was replaced is replaced."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fakebroker.broker.core.logs.segment import Segment
from fakebroker.protocol.storage import names
from fakebroker.protocol.storage.checkpoints import encode_leader_epochs
from fakebroker.protocol.storage.indexes import (
    OffsetIndexEntry,
    TimeIndexEntry,
    TransactionIndexEntry,
    encode_offset_index,
    encode_time_index,
    encode_transaction_index,
)
from fakebroker.protocol.storage.names import PartitionFolder, file_name
from fakebroker.protocol.storage.producer_snapshot import ProducerSnapshotEntry, encode_producer_snapshot
from fakebroker.protocol.storage.properties import encode_partition_metadata
from fakebroker.serve.storage.segment_content import CheckedContent, index_entries
from fakebroker.serve.storage.stored_segment import StoredSegment

if TYPE_CHECKING:
    from fakebroker.broker.core.logs.log import PartitionLog
    from fakebroker.broker.core.logs.producers import ProducerState
    from fakebroker.serve.storage.log_directory import LogDirectory

_UNKNOWN = -1


class _Written:
    """How much of a segment is in its file."""

    __slots__ = ("_folder", "_path", "count", "is_torn", "segment", "size_bytes")

    def __init__(self, segment: Segment, folder: Path, count: int = 0, size_bytes: int = 0) -> None:
        self.segment = segment
        self._folder = folder
        self._path: Path | None = None
        self.count = count  # batches; _UNKNOWN until a stored segment is read
        self.size_bytes = size_bytes
        self.is_torn = False  # a write has failed, and may have left something after `size_bytes`

    def move_to(self, folder: Path) -> None:
        """The file is in this folder now."""
        self._folder, self._path = folder, None

    @property
    def path(self) -> Path:
        """The file, whose name is made once."""
        path = self._path
        if path is None:
            path = self._path = self._folder / file_name(self.segment.base_offset, names.LOG)
        return path


class PartitionFiles:
    """One copy of a log in one log directory. Every method raises OSError."""

    def __init__(
        self, directory: "LogDirectory", log: "PartitionLog", topic_id: bytes, stored: Sequence[StoredSegment] = ()
    ) -> None:
        """`stored` are the segments that the folder has; without any it is made by the first `write`."""
        self.directory = directory
        self.name = PartitionFolder(log.partition.topic.name, log.partition.index)
        self.folder = directory.path / names.folder_name(*self.name)
        self._log = log
        self._topic_id = topic_id
        self._written = {each.base_offset: _Written(each, self.folder, _UNKNOWN, each.file_bytes) for each in stored}
        self._current = self._written[stored[-1].base_offset] if stored else None
        self._epochs = log.epochs.entries() if stored else []
        self.is_whole = bool(stored)  # whether the folder is there
        self.is_partial = False  # a copy ahead of a move: `copy_next` may write to it, nothing else
        self._is_restructured = False
        self._leaving: deque[int | Segment] = deque()  # see `remove_next`
        self._altered_from: int | None = None
        self._is_changed = False  # since indexes and producers were written

    def move_to(self, directory: "LogDirectory") -> None:
        """The folder, whose files are closed, is in this directory now."""
        self.directory = directory
        self.folder = directory.path / self.folder.name
        for written in self._written.values():
            written.move_to(self.folder)

    def altered(self, offset: int) -> None:
        """See LogStore."""
        self._altered_from = offset if self._altered_from is None else min(offset, self._altered_from)

    def segments_changed(self) -> None:
        """See LogStore."""
        self._is_restructured = True

    def write(self) -> int:
        """Bring the files up to date with the log, whose pending batches are stored; returns the bytes written."""
        self._prepare()
        log = self._log
        active = log.active_segment
        current = self._current
        if current is not None and current.segment is active:
            written_bytes = self._append(current)
        else:
            written_bytes = self._roll(active)
        self._is_changed |= written_bytes > 0
        if log.epochs.entries() != self._epochs:
            self.write_epochs()
        return written_bytes

    def copy_next(self) -> bool:
        """Write one more closed segment of a partial copy; returns whether there was one."""
        self._prepare()
        log, last = self._log, self._current
        later = log.segments.irange(None if last is None else last.segment.base_offset, inclusive=(False, True))
        base_offset = next(later, log.active_segment.base_offset)
        if base_offset == log.active_segment.base_offset:
            return False
        self._write_segment(log.segments[base_offset])
        return True

    @property
    def written_until(self) -> int:
        """The offset after the last batch that is in the files."""
        last = self._last_written()
        if last is None:
            return self._log.log_start_offset
        segment, count = last.segment, last.count
        if count == _UNKNOWN or count == len(segment.batches):
            return segment.last_offset + 1
        return segment.offsets[count] if count else segment.base_offset

    def has_file_of(self, segment: StoredSegment) -> bool:
        """Whether a segment needs no other file: it is in memory, or read from the file in this folder from now on."""
        written = self._written.get(segment.base_offset)
        if not segment.is_loaded and written is not None and written.segment is segment and written.count == _UNKNOWN:
            segment.path = written.path
            return True
        return segment.is_loaded

    def _prepare(self) -> None:
        if not self.is_whole:
            self._make()
        if self._is_restructured or self._altered_from is not None:
            self._restructure()

    def _make(self) -> None:
        self.folder.mkdir(exist_ok=True)
        self.directory.disk.replace(self.folder / names.PARTITION_METADATA, encode_partition_metadata(self._topic_id))
        self.is_whole = True

    def _append(self, written: _Written) -> int:
        """Append the batches of a segment that its file does not have."""
        segment = written.segment
        if written.count == _UNKNOWN:
            assert isinstance(segment, StoredSegment)
            if not segment.is_loaded:  # so nothing was appended
                return 0
            written.count = segment.stored_count
        new = segment.batches[written.count :]
        if not new:
            return 0
        data = new[0] if len(new) == 1 else b"".join(new)
        path, disk = written.path, self.directory.disk
        if written.is_torn:
            disk.cut(path, written.size_bytes)
        written.is_torn = True
        disk.append(path, written.size_bytes, data)
        written.is_torn = False
        written.count += len(new)
        written.size_bytes += len(data)
        return len(data)

    def _roll(self, active: Segment) -> int:
        """There is a new active segment: finish the one before, and any between; of a new copy all segments."""
        first = self._log.segments.keys()[0] if self._current is None else self._current.segment.base_offset
        written_bytes = 0
        for base_offset in list(self._log.segments.irange(first)):
            written_bytes += self._write_segment(self._log.segments[base_offset])
        self._write_transactions(active.base_offset)
        self._write_producers()
        return written_bytes

    def _write_segment(self, segment: Segment) -> int:
        """Write what the file of a segment does not have, and its indexes if it is closed; returns the bytes."""
        written = self._written.get(segment.base_offset)
        if written is None:
            written = self._written[segment.base_offset] = _Written(segment, self.folder)
            self.directory.disk.cut(written.path, 0)
        written_bytes = self._append(written)
        if segment is not self._log.active_segment:
            self._write_indexes(segment)
            self.directory.disk.release(written.path)
        self._current = written
        return written_bytes

    # Segments that were deleted or replaced

    def _restructure(self) -> None:
        """Write the segments that took the place of others; those that are gone are left to `remove_next`.

        As in Kafka a segment is written under another name, which it loses when those that it replaces are removed: a
        start after a kill finds the one or the other. What is truncated is removed at once: its offsets come again.
        """
        log, altered_from = self._log, self._altered_from
        replaced = []
        for base_offset, segment in log.segments.items():
            written = self._written.get(base_offset)
            if written is not None and (written.segment is not segment or self._is_altered(segment)):
                replaced.append(segment)
        if replaced or altered_from is not None:
            self._remove_leaving()  # their names are needed again
        for segment in replaced:
            self._write_swap(segment)
        for base_offset in sorted(self._written.keys() - log.segments.keys()):
            del self._written[base_offset]
            self._leaving.append(base_offset)
            # The folder may go before `remove_next` comes to this file, and another be made under its name.
            self.directory.disk.release(self.folder / file_name(base_offset, names.LOG))
        self._leaving += replaced
        if altered_from is not None:
            self._remove_leaving()
            self._remove_snapshots()
            self.write_epochs()
        active = log.active_segment
        self._current = self._written.get(active.base_offset) or self._last_written()
        self._is_restructured, self._altered_from, self._is_changed = False, None, True

    def _is_altered(self, segment: Segment) -> bool:
        """Whether batches of a segment may be others than in its file; the active one may have lost its last ones."""
        if self._altered_from is None:
            return False
        return segment is self._log.active_segment or segment.last_offset >= self._altered_from

    def _last_written(self) -> _Written | None:
        return self._written[max(self._written)] if self._written else None

    def _write_swap(self, segment: Segment) -> None:
        path = self._path(segment)
        cleaned = path.with_name(path.name + names.CLEANED)
        self.directory.disk.write(cleaned, b"".join(segment.batches))
        cleaned.rename(path.with_name(path.name + names.SWAP))
        self._written[segment.base_offset] = _Written(segment, self.folder, len(segment.batches), segment.size_bytes)

    def remove_next(self) -> bool:
        """Go on with the segments that were deleted, oldest first, and then with those that take a place of others.

        The files of one are removed, or one gets its name; returns whether there was any.
        """
        if not self._leaving:
            return False
        leaving = self._leaving[0]
        if isinstance(leaving, Segment):
            self._end_swap(leaving)
        else:
            self._remove(leaving)
        self._leaving.popleft()
        return True

    @property
    def has_leaving(self) -> bool:
        """Whether `remove_next` has something to do. Segments from before the log start may still have files."""
        return bool(self._leaving)

    def _remove_leaving(self) -> None:
        while self.remove_next():
            pass

    def _end_swap(self, segment: Segment) -> None:
        path = self._path(segment)
        swap = path.with_name(path.name + names.SWAP)
        if swap.exists():  # else an earlier call has failed after this
            self._remove(segment.base_offset)
            swap.rename(path)
        if segment is not self._log.active_segment:
            self._write_indexes(segment)

    def _remove(self, base_offset: int) -> None:
        """Remove the files of a segment. The indexes go last: a start removes those that have no segment."""
        self.directory.disk.release(self.folder / file_name(base_offset, names.LOG))
        for suffix in names.SEGMENT_SUFFIXES:
            (self.folder / file_name(base_offset, suffix)).unlink(missing_ok=True)

    # What goes with the segments

    def write_epochs(self) -> None:
        """Write the leader epochs."""
        self._epochs = self._log.epochs.entries()
        self.directory.disk.replace(self.folder / names.LEADER_EPOCHS, encode_leader_epochs(self._epochs))

    def settle(self, recovery_point: int) -> None:
        """Write what makes the next start fast: indexes of the active segment, producers; and flush the segments."""
        if self._is_changed and self.is_whole:
            self._write_indexes(self._log.active_segment)
            self._write_producers()
            self.write_epochs()
            self.flush(recovery_point)
            self._is_changed = False

    def flush(self, recovery_point: int) -> None:
        """Have the disk store the segments; those before the recovery point are stored."""
        for base_offset in self.segments_from(recovery_point):
            if base_offset in self._written:
                self.directory.disk.flush(self._written[base_offset].path)

    def segments_from(self, offset: int) -> Iterator[int]:
        """The base offsets of the segments that have anything at or after an offset."""
        segments = self._log.segments
        return iter(segments.keys()[max(segments.bisect_right(offset) - 1, 0) :])

    def closed_files(self, offset: int) -> list[Path]:
        """The files of the closed segments that have anything at or after an offset."""
        closed = [base for base in self.segments_from(offset) if base != self._log.active_segment.base_offset]
        return [self.folder / file_name(base, suffix) for base in closed for suffix in names.SEGMENT_SUFFIXES]

    def write_checked(self, checked: Mapping[int, CheckedContent]) -> None:
        """Write what a start has found in segments that it has checked: their indexes, and the producers."""
        for base_offset, content in checked.items():
            self._put_indexes(base_offset, content.offset_index, content.time_index)
        self._write_producers()
        self._is_changed = True

    def release(self) -> None:
        """Close the files, which are to be removed with the folder."""
        self._leaving.clear()
        for written in self._written.values():
            self.directory.disk.release(written.path)

    def _write_indexes(self, segment: Segment) -> None:
        """Write the indexes of a segment; one that was not read since it was loaded has them."""
        if isinstance(segment, StoredSegment) and not segment.is_loaded:
            return
        self._put_indexes(segment.base_offset, *index_entries(segment, self._log.config.index_interval_bytes))

    def _put_indexes(
        self, base_offset: int, offset_index: Sequence[OffsetIndexEntry], time_index: Sequence[TimeIndexEntry]
    ) -> None:
        disk, folder = self.directory.disk, self.folder
        disk.replace(
            folder / file_name(base_offset, names.OFFSET_INDEX), encode_offset_index(offset_index, base_offset)
        )
        disk.replace(folder / file_name(base_offset, names.TIME_INDEX), encode_time_index(time_index, base_offset))
        self._write_transactions(base_offset)

    def _write_transactions(self, base_offset: int) -> None:
        """Write the aborted transactions whose markers are in a segment."""
        path = self.folder / file_name(base_offset, names.TRANSACTION_INDEX)
        transactions = _transactions_in(self._log, base_offset)
        if transactions:
            self.directory.disk.replace(path, encode_transaction_index(transactions))
        else:
            path.unlink(missing_ok=True)

    def _write_producers(self) -> None:
        """Write the producers as they are now, in place of those of earlier offsets."""
        log = self._log
        entries = [producer_entry(each) for each in log.producers]
        newest = file_name(log.log_end_offset, names.PRODUCER_SNAPSHOT)
        self.directory.disk.replace(self.folder / newest, encode_producer_snapshot(entries))
        self._remove_snapshots(but=newest)

    def _remove_snapshots(self, but: str = "") -> None:
        for path in self.folder.glob(f"*{names.PRODUCER_SNAPSHOT}"):
            if path.name != but:
                path.unlink()

    def _path(self, segment: Segment) -> Path:
        return self.folder / file_name(segment.base_offset, names.LOG)


def _transactions_in(log: "PartitionLog", base_offset: int) -> list[TransactionIndexEntry]:
    """The aborted transactions whose markers are in a segment.

    The last stable offset is used by Kafka to end a search early; what stands here is never too large.
    """
    if not log.aborted.entries:
        return []
    next_offset = next(log.segments.irange(base_offset, inclusive=(False, True)), log.log_end_offset)
    return [
        TransactionIndexEntry(each.producer_id, each.first_offset, each.marker_offset, each.last_stable_offset)
        for each in log.aborted.marked_between(base_offset, next_offset)
    ]


def producer_entry(state: "ProducerState") -> ProducerSnapshotEntry:
    """A producer as a snapshot has it: of its batches the last one."""
    last = state.batches[-1] if state.batches else None
    began = state.current_transaction_offset
    return ProducerSnapshotEntry(
        state.producer_id,
        state.epoch,
        -1 if last is None else last.last_sequence,
        -1 if last is None else last.last_offset,
        0 if last is None else last.last_offset - last.first_offset,
        state.last_timestamp_ms,
        state.coordinator_epoch,
        -1 if began is None else began,
    )
