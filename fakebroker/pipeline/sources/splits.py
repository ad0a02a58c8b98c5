"""What to read of a history, cut into parts of about the same size: one part is one task's work. No Spark here."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from fakebroker.errors import FakebrokerError

Kind = Literal["segment", "parquet", "json", "live"]
KINDS: Final[dict[str, Kind]] = {".log": "segment", ".parquet": "parquet", ".json": "json", ".jsonl": "json"}
SPLIT_BYTES: Final = 32 * 1024 * 1024
_PARTITION_OF_FOLDER: Final = re.compile(r"-(\d+)$")


class BadHistory(FakebrokerError):
    """What is to be read as a history cannot be: the text says which file, and why."""


class Split(NamedTuple):
    """A part of an input: bytes of a segment or of JSON lines, row groups of Parquet, offsets of a live partition.

    `start` is inclusive, `end` exclusive. `size_bytes` is about how much there is to read.
    """

    kind: Kind
    file: str  # or HOST:PORT
    log_partition: int  # -1 where the records say it
    start: int
    end: int
    size_bytes: int


def find_files(paths: Iterable[str | Path]) -> list[Path]:
    """The files of a history: those that are named, and all of a known kind in folders that are named, once each.

    Raises BadHistory for a path that is not there, a file of no known kind, and when there is nothing at all.
    """
    found: dict[Path, None] = {}
    for path in map(Path, paths):
        if path.is_dir():
            inside = (each for each in sorted(path.rglob("*")) if each.suffix in KINDS and _is_data(each))
            found.update(dict.fromkeys(each.resolve() for each in inside))
        elif not path.exists():
            raise BadHistory(f"{path}: there is no such file or folder")
        elif path.suffix not in KINDS:
            raise BadHistory(f"{path}: not a history: a file's name ends with {', '.join(KINDS)}")
        else:
            found[path.resolve()] = None
    if not found:
        raise BadHistory(f"no files of a history ({', '.join(KINDS)}) in {', '.join(map(str, paths))}")
    return list(found)


def _is_data(path: Path) -> bool:
    """Whether a file in a folder is data: not hidden, not Spark's or a manifest's notes."""
    return path.is_file() and not path.name.startswith((".", "_")) and path.name != "manifest.json"


def kind_of(path: Path) -> Kind:
    """What a file is, by the end of its name."""
    return KINDS[path.suffix]


def log_partition_of(path: Path) -> int:
    """The partition that a broker's folder is named after, as `__consumer_offsets-12`; -1 for another folder."""
    found = _PARTITION_OF_FOLDER.search(path.parent.name)
    return int(found[1]) if found else -1


def file_splits(path: Path, start: int = 0, end: int | None = None, split_bytes: int = SPLIT_BYTES) -> list[Split]:
    """Cut a file, from `start` up to `end` (its end), into parts. Raises BadHistory when it cannot be read.

    Positions are row groups in Parquet and bytes in other files.
    """
    try:
        match kind_of(path):
            case "parquet":
                return list(_parquet_splits(path, start, end, split_bytes))
            case "segment":
                return list(_segment_splits(path, start, _size(path, end), split_bytes))
            case _:
                return list(_even_splits(path, start, _size(path, end), split_bytes))
    except OSError as error:
        raise BadHistory(f"{path}: cannot be read: {error.strerror or error}") from error


def _size(path: Path, end: int | None) -> int:
    return path.stat().st_size if end is None else end


def _parquet_splits(path: Path, start: int, end: int | None, split_bytes: int) -> Iterator[Split]:
    metadata = parquet_metadata(path)
    first, size = start, 0
    last = metadata.num_row_groups if end is None else end
    for group in range(start, last):
        size += metadata.row_group(group).total_byte_size
        if size >= split_bytes or group == last - 1:
            yield Split("parquet", str(path), -1, first, group + 1, size)
            first, size = group + 1, 0


def parquet_metadata(path: Path) -> Any:
    """The footer of a Parquet file. Raises BadHistory if it is none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_metadata(path)
    except pa.ArrowException as error:
        raise BadHistory(f"{path}: not a Parquet file: {error}") from error


def _segment_splits(path: Path, start: int, end: int, split_bytes: int) -> Iterator[Split]:
    """Cut at batches: only a whole walk over the batches tells where they begin, so small files are not cut."""
    bounds = [start, end]
    if end - start > split_bytes:
        bounds = [start, *_batch_bounds(path, start, end, split_bytes), end]
    for low, high in pairwise(bounds):
        if high > low:
            yield Split("segment", str(path), log_partition_of(path), low, high, high - low)


def _batch_bounds(path: Path, start: int, end: int, split_bytes: int) -> Iterator[int]:
    """Where batches begin, about every `split_bytes`; none behind what is no batch."""
    at, wanted = start, start + split_bytes
    with path.open("rb") as file:
        while at + 12 <= end:
            file.seek(at + 8)
            size = int.from_bytes(file.read(4), "big", signed=True)
            if size <= 0:
                return
            at += 12 + size
            if wanted <= at < end:
                yield at
                wanted = at + split_bytes


def _even_splits(path: Path, start: int, end: int, split_bytes: int) -> Iterator[Split]:
    """Bytes of a file of lines. Who reads a part reads the lines that begin in it."""
    for low in range(start, end, split_bytes):
        high = min(low + split_bytes, end)
        yield Split("json", str(path), -1, low, high, high - low)


def can_repeat(splits: Sequence[Split]) -> bool:
    """Whether two inputs may hold the same record, so that rows have to be compared.

    They cannot if all are segments of different base offsets in folders of one partition each: a broker's own log.
    Of Parquet files the statistics of partition and offset are asked (`parquet_spans`).
    """
    spans: list[tuple[int, int, int]] = []
    for file in {split.file: split for split in splits}.values():
        found = _spans(file)
        if found is None:
            return True
        spans += found
    spans.sort()
    return any(a[0] == b[0] and b[1] <= a[2] for a, b in pairwise(spans))


def _spans(split: Split) -> list[tuple[int, int, int]] | None:
    """The spans of offsets of a file, each as partition, first and last offset; None if they are not known."""
    if split.kind == "parquet":
        return parquet_spans(Path(split.file))
    return None


def parquet_spans(path: Path) -> list[tuple[int, int, int]] | None:
    """The offsets in a Parquet file by partition; None where a record stands in it twice or columns are missing.

    Reads the two columns of partition and offset only.
    """
    import numpy as np
    import pyarrow.parquet as pq

    names = set(pq.read_schema(path).names)
    columns = [next((name for name in each if name in names), "") for each in (PARTITION_NAMES, OFFSET_NAMES)]
    if not all(columns):
        return None
    table = pq.read_table(path, columns=columns)
    partitions, offsets = (table.column(name).combine_chunks().to_numpy(zero_copy_only=False) for name in columns)
    order = np.lexsort((offsets, partitions))
    partitions, offsets = partitions[order], offsets[order]
    is_same = partitions[1:] == partitions[:-1]
    if (is_same & (offsets[1:] == offsets[:-1])).any():
        return None
    starts = np.flatnonzero(np.append(True, ~is_same)) if len(order) else np.zeros(0, np.int64)
    ends = np.append(starts[1:], len(order)) - 1
    return [(int(partitions[a]), int(offsets[a]), int(offsets[b])) for a, b in zip(starts, ends, strict=False)]


# How the columns of a Parquet file may be named: ours, Spark's Kafka source, other tools.
PARTITION_NAMES: Final = ("log_partition", "partition", "kafka_partition", "__partition")
OFFSET_NAMES: Final = ("log_offset", "offset", "kafka_offset", "__offset")


def to_text(split: Split) -> str:
    """A split as text."""
    return json.dumps(split)
