"""The whole content of a data directory is replaced: a kill at any moment leaves the old content or the new one.

The new content is written to a folder of its own in the directory. A new name of that folder decides. Then the old
content is removed, the folder gets its third name, and the new content is moved to where it belongs. A start does what
is left of that.
"""

import logging
import os
import shutil
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from errno import EXDEV
from pathlib import Path
from typing import Final

from fakebroker.platform.files import flush_folder, refuse_link
from fakebroker.protocol.storage import names
from fakebroker.serve.storage.disk import Disk
from fakebroker.serve.storage.log_directory import LogDirectory

log = logging.getLogger("fakebroker")

UNFINISHED: Final = ".replacement.unfinished"
DECIDED: Final = ".replacement.decided"  # the old content is removed
MOVING: Final = ".replacement.moving"  # there is no old content any more
_FLUSHED_AT_ONCE = 8  # files; the disk stores them together


class Replacement:
    """What replaces the content of the log directories in a data directory. Every method raises OSError."""

    def __init__(self, path: Path, directories: Iterable[LogDirectory]) -> None:
        self._path = path.absolute()
        self._directories = list(directories)

    def begin(self) -> Path:
        """A folder for the new content, with one for each log directory where it is in the data directory."""
        folder = self._path / UNFINISHED
        self._remove_unfinished()
        folder.mkdir()
        for directory in self._directories:
            if directory.path.exists() and directory.path.stat().st_dev != folder.stat().st_dev:
                raise OSError(EXDEV, f"{directory.path} is another file system than {self._path}")
            self._in(folder, directory).mkdir(exist_ok=True)
        return folder

    def give_up(self) -> None:
        """The new content is not wanted; what cannot be removed now goes with the next start."""
        shutil.rmtree(self._path / UNFINISHED, ignore_errors=True)

    def decide(self, *, flush: bool) -> None:
        """From now on the new content counts, unless this fails; with `flush` the disk has stored it before."""
        if flush:
            _flush_all(self._path / UNFINISHED)
        os.rename(self._path / UNFINISHED, self._path / DECIDED)

    def finish(self, *, flush: bool) -> None:
        """Let the new content take the place of the old one, if that was decided.

        With `flush` the disk has stored the decision before.
        """
        decided, moving = self._path / DECIDED, self._path / MOVING
        if os.path.lexists(decided):
            refuse_link(decided)
            if flush:
                flush_folder(self._path)
            for directory in self._directories:
                directory.clear(but=(UNFINISHED, DECIDED))
            os.rename(decided, moving)
        if os.path.lexists(moving):
            refuse_link(moving)
            for directory in self._directories:
                _move_content(self._in(moving, directory), directory.path)
            shutil.rmtree(moving)

    def go_on(self) -> None:
        """At a start: finish what was decided, remove what was not, and say so."""
        if os.path.lexists(self._path / UNFINISHED):
            log.warning("%s: what a reset, a restore or a first start has not finished is removed", self._path)
            self._remove_unfinished()
        if any(os.path.lexists(self._path / name) for name in (DECIDED, MOVING)):
            log.warning(
                "%s: a reset, a restore or a first start was ended in its last part, which is done now", self._path
            )
            self.finish(flush=True)

    def _remove_unfinished(self) -> None:
        folder = self._path / UNFINISHED
        if os.path.lexists(folder):
            refuse_link(folder)
            shutil.rmtree(folder)

    def _in(self, folder: Path, directory: LogDirectory) -> Path:
        return folder / directory.path.relative_to(self._path)


def contents(path: Path) -> list[Path]:
    """The folders that have a part of what counts in a data directory: itself, and a replacement that was decided."""
    return [path, *(folder for name in (DECIDED, MOVING) if (folder := path / name).is_dir())]


def has_cluster(path: str | os.PathLike[str]) -> bool:
    """Whether a directory is the data directory of a cluster."""
    found = [each for folder in contents(Path(path)) for each in (folder, *folder.glob("*/"))]
    return any((each / names.META_PROPERTIES).exists() for each in found if each.name != UNFINISHED)


def _move_content(source: Path, target: Path) -> None:
    if source.is_dir():  # else it was moved already
        for each in sorted(source.iterdir()):
            os.rename(each, target / each.name)


def _flush_all(folder: Path) -> None:
    """Have the disk store all files of a folder and of those in it, and their names."""
    folders: list[Path] = []
    files: list[Path] = []
    for path, _, file_names in os.walk(folder):
        folders.append(Path(path))
        files += [Path(path, each) for each in file_names]
    with ThreadPoolExecutor(_FLUSHED_AT_ONCE) as threads:
        _done(threads.map(Disk.flush_closed, files))
        _done(threads.map(flush_folder, folders))


def _done(results: Iterable[None]) -> Sequence[None]:
    """Wait for all; raises the first error."""
    return list(results)
