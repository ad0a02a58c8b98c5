"""What to read of a history, cut into parts of about the same size: one part is one task's work. No Spark here."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from fakebroker.errors import FakebrokerError

Kind = Literal["segment", "parquet", "json", "live"]
ENDINGS: Final[dict[str, Kind]] = {
    ".log": "segment",
    ".parquet": "parquet",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json.gz": "json",
    ".jsonl.gz": "json",
    ".ndjson.gz": "json",
}
SPLIT_BYTES: Final = 32 * 1024 * 1024
# The end of a split of a Parquet file whose footer cannot be read: all of it, for whoever says what is wrong.
TO_THE_END: Final = -1
_FRONT_BYTES: Final = 12  # of a batch: base offset and length
_PARTITION_OF_FOLDER: Final = re.compile(r"-(\d+)$")


class BadHistory(FakebrokerError):
    """What is to be read as a history cannot be: the text says which file, and why."""


class Split(NamedTuple):
    """A part of an input.

    Attributes:
        kind: What the input is.
        file: The file, or HOST:PORT.
        log_partition: The partition that the file's folder tells, or of the live log; None where records tell it.
        start: Where the part begins: a byte of a segment, a row group of Parquet, a log offset of a live broker.
        end: Where it ends, not included. JSON lines are always read as a whole.
        size_bytes: About how much there is to read.
    """

    kind: Kind
    file: str
    log_partition: int | None
    start: int
    end: int
    size_bytes: int


def find_files(paths: Iterable[str | Path]) -> list[Path]:
    """The files of a history: those that are named, and all of a known kind in folders that are named, once each.

    Raises BadHistory for a path that is not there, a file of no known kind, and when there is nothing at all.
    """
    found: dict[Path, None] = {}
    paths = list(map(Path, paths))
    for path in paths:
        if path.is_dir():
            inside = (each for each in sorted(path.rglob("*")) if kind_of(each) and _is_data(each))
            found.update(dict.fromkeys(each.resolve() for each in inside))
        elif not path.exists():
            raise BadHistory(f"{path}: there is no such file or folder")
        elif kind_of(path) is None:
            raise BadHistory(f"{path}: not a file of a history; their names end with {', '.join(ENDINGS)}")
        else:
            found[path.resolve()] = None
    if not found:
        raise BadHistory(f"no file of a history ({', '.join(ENDINGS)}) in {', '.join(map(str, paths))}")
    return list(found)


def _is_data(path: Path) -> bool:
    """Whether a file in a folder is data: not hidden, and none of the notes that Spark and manifests leave."""
    return path.is_file() and not path.name.startswith((".", "_")) and path.name != "manifest.json"


def kind_of(path: Path) -> Kind | None:
    """What a file is, by the end of its name; None if it is nothing of a history."""
    return next((kind for ending, kind in ENDINGS.items() if path.name.endswith(ending)), None)


def log_partition_of(path: Path) -> int | None:
    """The partition that the folder of a file is named after, as `__consumer_offsets-12`; None if it is not."""
    found = _PARTITION_OF_FOLDER.search(path.parent.name)
    return int(found[1]) if found else None


def file_splits(path: Path, start: int = 0, end: int | None = None, split_bytes: int = SPLIT_BYTES) -> list[Split]:
    """Cut a file, from `start` up to `end` (its end), into parts. Raises BadHistory when it cannot be read."""
    try:
        size_bytes = path.stat().st_size
        match kind_of(path):
            case "parquet":
                return list(_parquet_splits(path, start, end, split_bytes))
            case "segment":
                return list(_segment_splits(path, start, size_bytes if end is None else end, split_bytes))
            case _:
                return [Split("json", str(path), log_partition_of(path), 0, size_bytes, size_bytes)]
    except OSError as error:
        raise BadHistory(f"{path}: cannot be read: {error.strerror or error}") from error


def _parquet_splits(path: Path, start: int, end: int | None, split_bytes: int) -> Iterator[Split]:
    metadata = parquet_metadata(path)
    if metadata is None:
        yield Split("parquet", str(path), log_partition_of(path), 0, TO_THE_END, 0)
        return
    first, size = start, 0
    last = metadata.num_row_groups if end is None else end
    for group in range(start, last):
        size += metadata.row_group(group).total_byte_size
        if size >= split_bytes or group == last - 1:
            yield Split("parquet", str(path), log_partition_of(path), first, group + 1, size)
            first, size = group + 1, 0


def parquet_metadata(path: Path) -> Any:
    """The footer of a Parquet file; None if it has none. Raises OSError."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with path.open("rb") as file:
            return pq.read_metadata(file)
    except pa.ArrowInvalid:
        return None


def _segment_splits(path: Path, start: int, end: int, split_bytes: int) -> Iterator[Split]:
    """Cut where batches begin. Only a walk over all of them tells where that is, so a small file is not cut."""
    cuts = batch_starts(path, start, end, split_bytes) if end - start > split_bytes else ()
    for low, high in pairwise([start, *cuts, end]):
        if high > low:
            yield Split("segment", str(path), log_partition_of(path), low, high, high - low)


def batch_starts(path: Path, start: int, end: int, every_bytes: int = 1) -> Iterator[int]:
    """Where batches between two bytes of a segment end and others may begin, about every so many bytes.

    Without `every_bytes` the last of them is the end of the last whole batch. What stands behind something that is no
    batch is not cut.
    """
    at, wanted = start, start + every_bytes
    with path.open("rb") as file:
        while at + _FRONT_BYTES <= end:
            file.seek(at + 8)
            length = int.from_bytes(file.read(4), "big", signed=True)
            at += _FRONT_BYTES + length
            if length <= 0 or at > end:
                return
            if at >= wanted:
                yield at
                wanted = at + every_bytes


def balanced(splits: Sequence[Split], most: int) -> list[list[Split]]:
    """Put splits together into at most `most` parts of about the same size: the largest first, to the smallest part."""
    parts: list[list[Split]] = [[] for _ in range(min(most, len(splits)))]
    sizes = [0] * len(parts)
    for split in sorted(splits, key=lambda each: -each.size_bytes):
        smallest = sizes.index(min(sizes))
        parts[smallest].append(split)
        sizes[smallest] += split.size_bytes + 1
    return parts
