"""What to read of a history, cut into parts of about the same size: one part is one task's work. No Spark here."""

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeVar

from fakebroker.analysis.history.log_record import Openable
from fakebroker.analysis.history.reading import HistoryError, HistoryFile, reason_of
from fakebroker.analysis.history.segments import FRONT_BYTES, batch_size
from fakebroker.analysis.pipeline.sources.parquet_history import has_plain_columns

Kind = Literal["segment", "parquet", "json", "live"]
SPLIT_BYTES: Final = 32 * 1024 * 1024
# The end of a part that is a whole file, read record by record: JSON lines, and Parquet that is unusual or damaged.
TO_THE_END: Final = -1


class Split(NamedTuple):
    """A part of an input: of a file, or of the log of a running Kafka, whose `file` is HOST:PORT.

    It goes from `start` up to `end`: bytes of a segment, row groups of Parquet, offsets of a live log; a file that is
    read as a whole ends at TO_THE_END. `log_partition` is None where rows tell it.
    """

    kind: Kind
    file: str
    log_partition: int | None
    start: int
    end: int
    size_bytes: int


def file_splits(file: HistoryFile, start: int, end: int, split_bytes: int) -> list[Split]:
    """Cut a file, from `start` up to `end`, into parts. Raises HistoryError when it cannot be read."""
    try:
        if file.kind == "segment":
            return list(_segment_splits(file, start, end, split_bytes))
        if file.kind == "parquet":
            return list(_parquet_splits(file, start, end, split_bytes))
        return [whole_file(file, file.path.stat().st_size)]
    except OSError as error:
        raise HistoryError(f"{file.path}: {reason_of(error)}") from error


def whole_file(file: HistoryFile, size_bytes: int = 0) -> Split:
    """A file that is read as a whole, record by record; what cannot be read of it is found out then."""
    return Split(file.kind, str(file.path), file.log_partition, 0, TO_THE_END, size_bytes)


def _parquet_splits(file: HistoryFile, start: int, end: int, split_bytes: int) -> Iterator[Split]:
    metadata = parquet_metadata(file.path)
    if metadata is None or not has_plain_columns(metadata.schema.to_arrow_schema(), file.log_partition):
        yield whole_file(file, file.path.stat().st_size)
        return
    first, size = start, 0
    for group in range(start, end):
        size += metadata.row_group(group).total_byte_size
        if size >= split_bytes or group == end - 1:
            yield Split("parquet", str(file.path), file.log_partition, first, group + 1, size)
            first, size = group + 1, 0


def parquet_metadata(path: Openable) -> Any:
    """The footer of a Parquet file; None if it has none that can be read. Raises OSError when there is no such file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with path.open("rb") as file:
        try:
            metadata = pq.read_metadata(file)
            metadata.schema.to_arrow_schema()
        except (pa.ArrowException, OSError):  # pyarrow raises either for bytes that make no sense
            return None
    return metadata


def _segment_splits(file: HistoryFile, start: int, end: int, split_bytes: int) -> Iterator[Split]:
    """Cut where batches begin. Only a walk over all of them tells where that is, so a small file is not cut.

    A file in which no batch begins at `start` any more is read anew: it was compacted since it was read up to there.
    """
    if start and max(batch_starts(file.path, 0, start), default=0) != start:
        start = 0
    cuts = batch_starts(file.path, start, end, split_bytes) if end - start > split_bytes else ()
    for low, high in pairwise([start, *cuts, end]):
        if high > low:
            yield Split("segment", str(file.path), file.log_partition, low, high, high - low)


def batch_starts(path: Path, start: int, end: int, every_bytes: int = 1) -> Iterator[int]:
    """Where batches between two bytes of a segment end and others may begin, about every so many bytes.

    Without `every_bytes` the last of them is the end of the last whole batch. What stands behind something that is no
    batch is not cut.
    """
    at, wanted = start, start + every_bytes
    with path.open("rb") as file:
        while at + FRONT_BYTES <= end:
            file.seek(at)
            size_bytes = batch_size(file.read(FRONT_BYTES))
            if size_bytes is None or at + size_bytes > end:
                return
            at += size_bytes
            if at >= wanted:
                yield at
                wanted = at + every_bytes


class Sized(Protocol):
    """What has a size."""

    @property
    def size_bytes(self) -> int:
        """In bytes, about."""


S = TypeVar("S", bound=Sized)


def balanced(splits: Sequence[S], most: int) -> list[list[S]]:
    """Put splits together into at most `most` parts of about the same size: the largest first, to the smallest part."""
    sizes = [(0, number) for number in range(min(most, len(splits)))]
    parts: list[list[S]] = [[] for _ in sizes]
    for split in sorted(splits, key=lambda each: -each.size_bytes):
        size_bytes, number = heappop(sizes)
        parts[number].append(split)
        heappush(sizes, (size_bytes + split.size_bytes + 1, number))
    return parts
