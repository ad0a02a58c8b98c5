"""A partition's folder as a log again: what a broker does with its disk at the start. Kafka: `LogLoader`.

After a clean stop the files are trusted, and no record is read but the last ones: whether the log ends with a whole
batch. After a kill the segments from the recovery point on are checked, batch by batch: the log ends before the first
batch that is not whole, and indexes are rebuilt. A check keeps no batch in memory.
"""

import logging
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fakebroker.broker.core.logs.aborted import AbortedTransaction
from fakebroker.broker.core.logs.config import LogConfig
from fakebroker.broker.core.logs.producers import ProducerState, WrittenBatch
from fakebroker.platform.files import file_in_place, names_in_place, regular_bytes, regular_file, regular_status
from fakebroker.protocol.errors import WireError
from fakebroker.protocol.records.batch import BatchHeader, parse_header, read_records
from fakebroker.protocol.records.markers import ControlRecordType, control_record_type, coordinator_epoch_of
from fakebroker.protocol.storage import names
from fakebroker.protocol.storage.checkpoints import decode_leader_epochs
from fakebroker.protocol.storage.indexes import decode_offset_index, decode_time_index, decode_transaction_index
from fakebroker.protocol.storage.names import file_name, offset_of
from fakebroker.protocol.storage.producer_snapshot import ProducerSnapshotEntry, decode_producer_snapshot
from fakebroker.serve.storage.segment_content import (
    CheckedContent,
    NotWhole,
    check_content,
    end_from,
    whole_batches,
)
from fakebroker.serve.storage.stored_segment import StoredSegment, mapped

if TYPE_CHECKING:
    from fakebroker.broker.core.logs.log import PartitionLog
    from fakebroker.protocol.instant import Instant

log = logging.getLogger("fakebroker")
_SEQUENCE_MASK = 0x7FFFFFFF


class LoadedSegments(NamedTuple):
    """The segments of a folder, oldest first, and where the log ends."""

    segments: list[StoredSegment]
    end_offset: int
    checked: dict[int, CheckedContent]  # by base offset: what was found in those that were checked batch by batch
    files: list[str]  # the names of all files of the folder


def load_segments(folder: Path, config: LogConfig, recovery_point: int | None) -> LoadedSegments:
    """Read which segments a folder has, and check those from `recovery_point` on; None: the stop was clean.

    A log that ends at its recovery point has nothing to be checked. Files that are left of changes under way are
    removed, or the change is completed. Raises OSError.
    """
    files = names_in_place(folder)
    if complete_changes(folder, files):
        files = names_in_place(folder)
    offsets = sorted(offset for name in files if (offset := offset_of(name, names.LOG)) is not None)
    segments = []
    for number, offset in enumerate(offsets):
        following = offsets[number + 1] if number + 1 < len(offsets) else None
        has_times = following is not None or recovery_point is None  # a clean stop writes those of the active one
        segments.append(_segment(folder, offset, following, config, has_times=has_times and not config.compact))
    if not segments:
        return LoadedSegments([], 0, {}, files)
    checked = {}
    end_offset, is_whole = _end_of(segments[-1])
    if not (is_whole and recovery_point in (None, end_offset)):  # torn after a clean stop, by somebody else, or killed
        first = len(segments) if recovery_point is None else bisect_right(offsets, recovery_point)
        first = max(first - 1, 0)
        checked = _check(segments[first:], config.index_interval_bytes)
        del segments[first + len(checked) :]
        end_offset = checked[segments[-1].base_offset].end_offset
    return LoadedSegments(segments, end_offset, checked, files)


def complete_changes(folder: Path, files: Sequence[str]) -> bool:
    """Complete what a killed broker was doing to segments, or undo it; returns whether there was anything.

    Raises OSError.
    """
    unfinished = [name for name in files if name.endswith((names.DELETED, names.CLEANED, ".tmp"))]
    unfinished += _without_segment(files)
    for name in unfinished:
        (folder / name).unlink()
    finished = {
        name: offset_of(name.removesuffix(names.SWAP), names.LOG) for name in files if name.endswith(names.SWAP)
    }
    for name, offset in finished.items():
        if offset is not None:
            _complete_swap(folder, folder / name, offset)
    return bool(unfinished or finished)


def _without_segment(files: Sequence[str]) -> list[str]:
    """The indexes whose segments a killed broker has removed; Kafka's `LogLoader` removes them, too."""
    segments = {name.removesuffix(names.LOG) for name in files if name.endswith(names.LOG)}
    indexes = [(name, suffix) for name in files for suffix in names.SEGMENT_SUFFIXES[1:] if name.endswith(suffix)]
    return [
        name
        for name, suffix in indexes
        if offset_of(name, suffix) is not None and name.removesuffix(suffix) not in segments
    ]


def _complete_swap(folder: Path, path: Path, base_offset: int) -> None:
    with regular_file(path, "rb") as file, mapped(file.fileno(), path.stat().st_size) as data:
        end_offset, _ = end_from(data, base_offset, 0)
    for other in list(folder.iterdir()):
        for suffix in names.SEGMENT_SUFFIXES:
            offset = offset_of(other.name, suffix)
            if offset is not None and (offset == base_offset or base_offset <= offset < end_offset):
                other.unlink()
    path.rename(folder / file_name(base_offset, names.LOG))


def _segment(folder: Path, offset: int, following: int | None, config: LogConfig, *, has_times: bool) -> StoredSegment:
    path = folder / file_name(offset, names.LOG)
    status = regular_status(path)
    largest_ms = _largest_timestamp_ms(folder / file_name(offset, names.TIME_INDEX), offset) if has_times else None
    modified_ms = status.st_mtime_ns // 1_000_000
    interval_bytes = config.index_interval_bytes
    return StoredSegment(path, offset, status.st_size, modified_ms, interval_bytes, largest_ms, following)


def _largest_timestamp_ms(path: Path, base_offset: int) -> int | None:
    """What a time index says of its segment; None if it is missing, empty or damaged."""
    try:
        entries = decode_time_index(regular_bytes(path), base_offset)
    except (OSError, WireError):
        return None
    return entries[-1].timestamp_ms if entries else None


def _check(segments: Sequence[StoredSegment], index_interval_bytes: int) -> dict[int, CheckedContent]:
    """Check every batch; what was found by base offset. The log ends at the first batch that is not whole."""
    checked = {}
    for number, segment in enumerate(segments):
        with file_in_place(segment.path, "r+b") as file:
            with mapped(file.fileno(), segment.file_bytes) as data:
                content = check_content(data, segment.base_offset, index_interval_bytes)
            if content.problem is not None:
                lost_bytes = segment.file_bytes - content.size_bytes
                log.warning("%s: %s; the last %d bytes are cut off", segment.path, content.problem, lost_bytes)
                file.truncate(content.size_bytes)
        segment.checked(content)
        checked[segment.base_offset] = content
        if content.problem is not None:
            for later in segments[number + 1 :]:
                log.warning("%s: removed, because the log ends at offset %d", later.path, content.end_offset)
                for suffix in names.SEGMENT_SUFFIXES:
                    later.path.with_suffix(suffix).unlink(missing_ok=True)
            break
    return checked


def _end_of(segment: StoredSegment) -> tuple[int, bool]:
    """The offset after the last whole batch, found from the last entry of the index on; whether the file ends there."""
    position = 0
    try:
        index = decode_offset_index(regular_bytes(segment.path.with_suffix(names.OFFSET_INDEX)), segment.base_offset)
        position = index[-1].position if index and index[-1].position < segment.file_bytes else 0
    except (OSError, WireError):
        pass
    with regular_file(segment.path, "rb") as file, mapped(file.fileno(), segment.file_bytes) as data:
        end_offset, end = end_from(data, segment.base_offset, position)
    return end_offset, end == segment.file_bytes


def fill_log(
    target: "PartitionLog", loaded: LoadedSegments, folder: Path, start_offset: int | None, now: "Instant"
) -> None:
    """Give an unused log the segments of a folder, with epochs, producers and aborted transactions. Raises OSError."""
    segments, end_offset = loaded.segments, loaded.end_offset
    first_offset = segments[0].base_offset
    epochs = [entry for entry in read_epochs(folder) if entry[1] <= end_offset]
    target.fill(segments, epochs)
    target.log_end_offset = end_offset
    target.log_start_offset = min(max(first_offset, start_offset or 0), end_offset)
    snapshot_offset = _load_producers(target, folder, loaded)
    target.aborted.entries = _read_aborted(loaded, snapshot_offset)
    if snapshot_offset < end_offset:
        _replay(target, max(snapshot_offset, first_offset), loaded)
    target.limit_high_watermark(target.high_watermark_limit, now)


def read_epochs(folder: Path) -> list[tuple[int, int]]:
    """The leader epochs of a folder; none if the file is missing or damaged, which is logged."""
    path = folder / names.LEADER_EPOCHS
    try:
        return decode_leader_epochs(regular_bytes(path), str(path))
    except FileNotFoundError:
        return []
    except WireError as error:
        log.warning("%s; it is rebuilt", error)
        return []


def _load_producers(target: "PartitionLog", folder: Path, loaded: LoadedSegments) -> int:
    """Load the producers of the newest snapshot that can be read; returns its offset, 0 without any."""
    offsets = [offset_of(name, names.PRODUCER_SNAPSHOT) for name in loaded.files]
    for offset in sorted((offset for offset in offsets if offset is not None), reverse=True):
        path = folder / file_name(offset, names.PRODUCER_SNAPSHOT)
        if offset > loaded.end_offset:
            path.unlink()
            continue
        try:
            entries = decode_producer_snapshot(regular_bytes(path))
        except WireError as error:
            log.warning("%s: %s; it is not used", path, error)
            path.unlink()
            continue
        for entry in entries:
            target.producers.put(producer_state(entry))
        return offset
    return 0


def producer_state(entry: ProducerSnapshotEntry) -> ProducerState:
    """A producer as a snapshot has it; of its batches only the last is known."""
    state = ProducerState(entry.producer_id, entry.epoch)
    state.last_timestamp_ms, state.coordinator_epoch = entry.timestamp_ms, entry.coordinator_epoch
    if entry.transaction_first_offset >= 0:
        state.current_transaction_offset = entry.transaction_first_offset
    if entry.last_sequence >= 0:
        first_sequence = (entry.last_sequence - entry.offset_delta) & _SEQUENCE_MASK
        first_offset = entry.last_offset - entry.offset_delta
        batch = WrittenBatch(first_sequence, entry.last_sequence, first_offset, entry.last_offset, entry.timestamp_ms)
        state.batches.append(batch)
    return state


def _read_aborted(loaded: LoadedSegments, snapshot_offset: int) -> list[AbortedTransaction]:
    """The aborted transactions of trusted segments, and of the others those from before the snapshot of producers."""
    found: list[AbortedTransaction] = []
    if not any(name.endswith(names.TRANSACTION_INDEX) for name in loaded.files):
        return found
    for segment in loaded.segments:
        path = segment.path.with_suffix(names.TRANSACTION_INDEX)
        try:
            entries = decode_transaction_index(regular_bytes(path))
        except FileNotFoundError:
            continue
        except WireError as error:
            log.warning("%s: %s; it is not used", path, error)
            continue
        found += [
            AbortedTransaction(each.producer_id, each.first_offset, each.last_offset, each.last_stable_offset)
            for each in entries
            if segment.base_offset not in loaded.checked or each.last_offset < snapshot_offset
        ]
    return found


def _replay(target: "PartitionLog", offset: int, loaded: LoadedSegments) -> None:
    """Let producers be what the batches from `offset` on say, and find the transactions that these abort."""
    known = {each.marker_offset for each in target.aborted.entries}
    following = [each.base_offset for each in loaded.segments[1:]] + [loaded.end_offset]
    for segment, next_offset in zip(loaded.segments, following, strict=True):
        content = loaded.checked.get(segment.base_offset)
        if next_offset <= offset or (content is not None and not content.has_producers):
            continue
        with (
            regular_file(segment.path, "rb") as file,
            mapped(file.fileno(), segment.file_bytes) as data,
            suppress(NotWhole),
        ):
            for start, end, _, last, _, producer_id, _ in whole_batches(data, segment.base_offset, check_crc=False):
                if producer_id >= 0 and last >= offset:
                    header = parse_header(data, start)
                    if header.is_control:
                        _replay_marker(target, header, data[start:end], known)
                    else:
                        target.producers.written(header, header.base_offset, header.max_timestamp_ms)


def _replay_marker(target: "PartitionLog", header: BatchHeader, batch: bytes, known: set[int]) -> None:
    """The same of the end of a transaction; `known` are the offsets of markers of aborted ones that are known."""
    for marker in read_records(batch):
        epoch = coordinator_epoch_of(marker.value)
        began = target.producers.ended(header.producer_id, header.producer_epoch, epoch, marker.timestamp_ms)
        is_abort = control_record_type(marker.key) == ControlRecordType.ABORT
        if began is not None and is_abort and header.base_offset not in known:
            stable_offset = target.producers.open_before(header.base_offset + 1)
            target.aborted.add(AbortedTransaction(header.producer_id, began, header.base_offset, stable_offset))
