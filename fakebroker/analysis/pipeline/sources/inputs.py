"""Inputs of a history that grow: how far there is something to read, and what to read between two positions.

A position says how far an input is read: of a file by its path, of a live log by the partition's number. Of a segment
it is a byte, of Parquet the number of row groups, of JSON lines the size of the file, of a live log an offset.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fakebroker.analysis.history.reading import HistoryError, HistoryFile, files_of, reason_of
from fakebroker.analysis.pipeline.sources.splits import (
    SPLIT_BYTES,
    Split,
    batch_starts,
    file_splits,
    parquet_metadata,
    whole_file,
)

if TYPE_CHECKING:
    from fakebroker.analysis.history.live import Span
    from fakebroker.client.security import ClientConfig

Positions = dict[str, int]
_UNREADABLE: Final = -1  # the position of a file of which nothing more is known: whoever reads it says why


class Files:
    """Files and folders, in which new files may appear and segments may grow."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = list(paths)

    def first(self) -> Positions:
        """No file is known."""
        return {}

    def latest(self, *, is_growing: bool) -> Positions:
        """Every file up to its end; the last segment of a folder that is growing up to its last whole batch.

        Raises FakebrokerError.
        """
        files = self._files()
        newest = {file.path.parent: file.path for file in files if file.kind == "segment"}
        found: Positions = {}
        for file in files:
            try:
                found[str(file.path)] = _end_of(file, is_growing and newest.get(file.path.parent) == file.path)
            except OSError as error:
                if is_growing:  # what cannot be read now may be read by the next run
                    raise HistoryError(f"{file.path}: {reason_of(error)}") from error
                found[str(file.path)] = _UNREADABLE
        return found

    def limited(self, start: Mapping[str, int], end: Positions, most: int) -> Positions:
        """How far to read from `start` to `end` for about so many bytes: whole files, and segments up to a batch.

        Always further than `start`, if there is anything.
        """
        found, left_bytes = dict(start), most
        for path, position in end.items():
            if path in start and position <= start[path]:
                continue
            if left_bytes <= 0:
                break
            begin = start.get(path, 0)
            size_bytes = position - begin if path.endswith(".log") else Path(path).stat().st_size
            if path.endswith(".log") and size_bytes > left_bytes:
                position = next(batch_starts(Path(path), begin, position, left_bytes), position)
            found[path] = position
            left_bytes -= size_bytes
        return found

    def splits(self, start: Mapping[str, int], end: Mapping[str, int], split_bytes: int = SPLIT_BYTES) -> list[Split]:
        """Parts of the files that are new or have grown. JSON lines that have grown are read anew."""
        files = {str(file.path): file for file in self._files()}
        found: list[Split] = []
        for path, position in end.items():
            if path in start and position <= start[path]:
                continue
            if path not in files:
                raise HistoryError(f"{path}: the file was deleted before it was read completely")
            if position == _UNREADABLE:
                found.append(whole_file(files[path]))
            else:
                found += file_splits(files[path], start.get(path, 0), position, split_bytes)
        return found

    def _files(self) -> list[HistoryFile]:
        """A folder may be empty in the beginning."""
        found: list[HistoryFile] = []
        for path in self._paths:
            try:
                found += files_of([path])
            except HistoryError:
                if not Path(path).is_dir():
                    raise
        return list({file.path.resolve(): file for file in reversed(found)}.values())[::-1]


def _end_of(file: HistoryFile, may_grow: bool) -> int:
    size_bytes = file.path.stat().st_size
    if file.kind == "json":
        return size_bytes
    if file.kind == "parquet":
        metadata = parquet_metadata(file.path)
        return 0 if metadata is None else int(metadata.num_row_groups)
    if may_grow:
        return max(batch_starts(file.path, 0, size_bytes), default=0)
    return size_bytes


class Live:
    """The log of a running Kafka."""

    def __init__(self, kafka: "ClientConfig") -> None:
        self._kafka = kafka

    def first(self) -> Positions:
        """Where the log begins now."""
        return {str(span.log_partition): span.start for span in self._spans()}

    def latest(self, *, is_growing: bool) -> Positions:  # noqa: ARG002 - of files
        """Where it ends now."""
        return {str(span.log_partition): span.end for span in self._spans()}

    def limited(self, start: Mapping[str, int], end: Positions, most: int) -> Positions:
        """An even share of offsets of each partition that has some, at least one."""
        growing = [partition for partition, offset in end.items() if offset > start.get(partition, 0)]
        share = max(1, most // max(1, len(growing)))
        return dict(start) | {each: min(end[each], start.get(each, 0) + share) for each in growing}

    def splits(self, start: Mapping[str, int], end: Mapping[str, int], split_bytes: int = SPLIT_BYTES) -> list[Split]:  # noqa: ARG002 - of files
        """A part for each partition, about 100 bytes for an offset."""
        return [
            Split("live", self._kafka.bootstrap, int(partition), start.get(partition, 0), offset, size_bytes)
            for partition, offset in end.items()
            if (size_bytes := 100 * (offset - start.get(partition, 0))) > 0
        ]

    def _spans(self) -> "list[Span]":
        from fakebroker.analysis.history.live import live_spans  # a client, which files do without

        return live_spans(self._kafka)


Input = Files | Live
