"""The kinds of files of a history, known by their names and first bytes, wherever the files are."""

import re
from pathlib import PurePosixPath
from typing import Final, Literal

from fakebroker.analysis.history.packed import GZIP_MAGIC
from fakebroker.analysis.history.parquet import PARQUET_MAGIC
from fakebroker.analysis.history.sink_rows import TOPIC

Kind = Literal["segment", "json", "parquet"]

FRONT_BYTES: Final = 64
"""How many bytes tell the kind of a file."""

_LOG_FOLDER = re.compile(rf"{TOPIC}-(\d{{1,9}})")
_NAMED_PARTITION = re.compile(rf"{TOPIC}-(\d{{1,9}})(?!\d)|(?:^|/)partition=(\d{{1,9}})/")
_SUFFIXES: Final[dict[str, Kind]] = {
    ".log": "segment",
    ".parquet": "parquet",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
}


def kind_by_name(name: str) -> Kind | None:
    """The kind that the ending of a file's name says, that of the compression left out; None for other endings."""
    return _SUFFIXES.get(PurePosixPath(name.removesuffix(".gz")).suffix.lower())


def kind_by_front(front: bytes) -> Kind | None:
    """The kind of a file that begins so; None if it is none that is read."""
    if front.startswith(PARQUET_MAGIC):
        return "parquet"
    if front.lstrip().startswith(b"{") or front.startswith(GZIP_MAGIC):
        return "json"
    is_batch = len(front) > 16 and front[16] <= 2 and 0 < int.from_bytes(front[8:12], "big") < 1 << 30
    return "segment" if is_batch else None


def partition_in(path: str) -> int | None:
    """The partition of the log in a file's name or that of a folder around it, the nearest to the file."""
    found = list(_NAMED_PARTITION.finditer(path))
    return int(found[-1][1] or found[-1][2]) if found else None


def is_log_folder(name: str) -> bool:
    """Whether a folder of this name has the segments of a partition of `__consumer_offsets`."""
    return _LOG_FOLDER.fullmatch(name) is not None


def is_hidden(name: str) -> bool:
    """Whether this is what Spark and others keep beside the data."""
    return name.startswith(("_", ".")) and not name.startswith(TOPIC)


def reading_order(path: str, kind: Kind, log_partition: int | None) -> tuple[int, int, str]:
    """The order in which the files of a folder are read: by partition and base offset, or by name."""
    stem = PurePosixPath(path).stem
    base_offset = int(stem) if kind == "segment" and stem.isascii() and stem.isdigit() else -1
    return -1 if log_partition is None else log_partition, base_offset, path
