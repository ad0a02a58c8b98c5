"""Removes in steps what a turn has taken away: a topic may have thousands of folders, a log thousands of segments."""

import shutil
from collections import deque
from collections.abc import Callable, Generator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fakebroker.broker.core.long_passes import LongPasses
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import Pace, finished
from fakebroker.protocol.storage.names import SEGMENT_SUFFIXES
from fakebroker.serve.storage.log_directory import files_in
from fakebroker.serve.storage.partition_files import PartitionFiles

if TYPE_CHECKING:
    from fakebroker.serve.storage.stored_log import StoredLog

FILES_PER_STEP = 500
FILES_OF_SEGMENT = len(SEGMENT_SUFFIXES)


class Removals:
    """What is to be removed from the log directories.

    `do` does something in the directory of a broker; `remove_next` removes a segment from a copy of a log, and returns
    whether there was one.
    """

    def __init__(
        self, passes: LongPasses, do: Callable[..., Any], remove_next: Callable[["StoredLog", PartitionFiles], bool]
    ) -> None:
        self._passes = passes
        self._do = do
        self._remove_next = remove_next
        self._copies: dict[PartitionFiles, StoredLog] = {}  # that have segments to be removed
        self._taken_away = 0
        self._folders: deque[tuple[int, Path]] = deque()  # with the brokers that they were of
        self._is_removing = False

    def remove_copy(self, copy: PartitionFiles) -> None:
        """Take the folder of a copy away; it is removed later. Raises OSError."""
        copy.release()
        self._taken_away += 1
        gone = copy.directory.take_away(copy.name, f"{self._taken_away:032x}")
        if gone is not None:
            self._folders.append((copy.directory.node_id, gone))

    def add_segments(self, stored: "StoredLog", copy: PartitionFiles) -> None:
        """The segments that a copy of a log has to remove are removed later."""
        self._copies[copy] = stored

    def begin(self, now: Instant) -> None:
        """Begin to remove what was taken away, unless that goes on already."""
        if (self._copies or self._folders) and not self._is_removing:
            self._is_removing = True
            self._passes.begin(self._in_steps(), lambda _nothing, _now: None, now)

    def finish(self) -> None:
        """Remove all of it now, also what is being removed in steps."""
        finished(self._in_steps())

    def _in_steps(self) -> Generator[None, None, None]:
        pace = self._passes.pace(FILES_PER_STEP)
        try:
            yield from self._remove_segments(pace)
            yield from self._remove_folders(pace)
        finally:  # a bug of ours, too, may not be the last removal
            self._is_removing = False

    def _remove_segments(self, pace: Pace) -> Generator[None, None, None]:
        while self._copies:
            copy, stored = next(iter(self._copies.items()))
            while self._remove_next(stored, copy):
                if pace.is_over(FILES_OF_SEGMENT):
                    yield
            self._copies.pop(copy, None)  # one that cannot be written to now is added again when it is written to

    def _remove_folders(self, pace: Pace) -> Generator[None, None, None]:
        while self._folders:
            node_id, folder = self._folders[0]  # `finish` begins with it again, and leaves nothing of it
            for path in self._do(node_id, files_in, folder) or ():
                self._do(node_id, path.unlink, True)  # it may be missing
                if pace.is_over():
                    yield
            self._do(node_id, _remove_folder, folder)
            if self._folders and self._folders[0][1] == folder:
                self._folders.popleft()


def _remove_folder(folder: Path) -> None:
    """Remove a folder, if it is still there. Raises OSError."""
    with suppress(FileNotFoundError):
        shutil.rmtree(folder)
