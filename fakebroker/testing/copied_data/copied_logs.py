"""The log of a partition from its folder: segments in all formats, the log start, where compaction stopped."""

from pathlib import Path

from fakebroker.broker.core.cluster_state import LogState
from fakebroker.protocol.records.batch import check_crc, parse_header, split_batches
from fakebroker.protocol.records.batch_format import MAGIC_POSITION
from fakebroker.protocol.records.faults import InvalidRecord
from fakebroker.protocol.storage import names
from fakebroker.testing.copied_data.copied_directory import modified_ms, read_file
from fakebroker.testing.imported.log_builder import LogBuilder

_FORMAT = 2


class CopiedLog:
    """A log that was read: its state, and the highest producer id in it."""

    def __init__(self, state: LogState, highest_producer_id: int) -> None:
        self.state = state
        self.highest_producer_id = highest_producer_id


def read_log(folder: Path, log_start: int | None, cleaned_until: int, problems: list[str]) -> CopiedLog:
    """Read all segments of a folder, up to the first batch that is cut off or damaged, which is a problem.

    Raises InvalidArgument for a file that cannot be read.
    """
    builder, written_ms, last_base = LogBuilder(), 0, 0
    offsets = [(names.offset_of(path.name, names.LOG), path) for path in folder.iterdir()]
    segments = sorted((offset, path) for offset, path in offsets if offset is not None)
    if not segments:
        problems.append(f"{folder} has no {names.LOG} file: the partition is empty")
    for number, (base_offset, path) in enumerate(segments):
        builder.begin_segment(base_offset)
        written_ms, last_base = modified_ms(path), base_offset
        if not _read_segment(path, builder, problems):
            problems.extend(f"{later} is not used: the log ends before it" for _, later in segments[number + 1 :])
            break
    first = segments[0][0] if segments else 0
    end = max(builder.end_offset, last_base)  # the last segment may have no batch
    start = min(max(first, log_start or 0), end)
    state = builder.finish(start, end, modified_ms=written_ms)
    return CopiedLog(state._replace(cleaned_until=min(cleaned_until, end)), builder.highest_producer_id)


def _read_segment(path: Path, builder: LogBuilder, problems: list[str]) -> bool:
    """Add the batches of a segment; whether all of it could be read."""
    data, position = read_file(path), 0
    for batch in split_batches(data):
        try:
            if batch[MAGIC_POSITION] >= _FORMAT:
                check_crc(batch, parse_header(batch))
            builder.add(batch)
        except InvalidRecord as error:
            problems.append(f"{path} is read up to byte {position} only: {error.message}")
            return False
        position += len(batch)
    if position < len(data.rstrip(b"\0")):  # Kafka reserves room at the end of a file on some systems
        problems.append(f"{path} is read up to byte {position} only: the batch there is cut off")
        return False
    return True
