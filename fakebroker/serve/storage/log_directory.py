"""A log directory: the folder in which one broker keeps its partitions. Kafka: an entry of `log.dirs`."""

import os
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import IO, Final
from weakref import WeakValueDictionary

from fakebroker.platform.files import refuse_link, regular_bytes
from fakebroker.protocol.errors import InvalidArgument, Unavailable, WireError
from fakebroker.protocol.storage import names
from fakebroker.protocol.storage.checkpoints import decode_offsets, encode_offsets
from fakebroker.protocol.storage.names import PartitionFolder
from fakebroker.protocol.storage.properties import (
    MetaProperties,
    decode_meta_properties,
    encode_clean_shutdown,
    encode_meta_properties,
)
from fakebroker.serve.storage.disk import Disk, cause
from fakebroker.serve.storage.file_lock import locked

_IN_USE: "Final[WeakValueDictionary[Path, LogDirectory]]" = WeakValueDictionary()
"""The directories that this process has locked: locks of files are between processes only."""


def wrong(path: Path, text: str) -> InvalidArgument:
    """The error of a data directory that cannot be used."""
    return InvalidArgument("data", str(path), f"{path}: {text}")


def unusable(path: Path, what: str, error: OSError) -> InvalidArgument:
    """The same for an error of the system, with the name of the file if it is another one."""
    text = cause(error) if error.filename not in (None, str(path)) else error.strerror or str(error)
    return wrong(path, f"{what}: {text}")


def is_in_use(path: Path) -> bool:
    """Whether a broker of this process has locked a directory."""
    return path.resolve() in _IN_USE


def files_in(folder: Path) -> list[Path]:
    """What is in a folder, but for folders. Raises OSError."""
    with os.scandir(folder) as entries:
        return [folder / each.name for each in entries if not each.is_dir(follow_symlinks=False)]


class LogDirectory:
    """The log directory of one broker, locked from `open` to `close`."""

    def __init__(self, path: Path, node_id: int) -> None:
        self.path = path.absolute()
        self.node_id = node_id
        self.disk = Disk()
        self._lock: IO[bytes] | None = None

    # Opening and closing

    def open(self) -> None:
        """Make the folder if it is missing, and lock it. Raises InvalidArgument, Unavailable if it is in use."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._take_lock()
        except FileExistsError:
            raise wrong(self.path, "is not a directory") from None
        except OSError as error:
            raise unusable(self.path, "cannot be used", error) from None

    def _take_lock(self) -> None:
        real = self.path.resolve()
        if real in _IN_USE:
            raise Unavailable(f"{self.path} is in use by another broker of this process; stop that one first")
        lock = locked(self.path / names.LOCK)
        if lock is None:
            raise Unavailable(f"{self.path} is in use by another process; stop that broker, or use another directory")
        _IN_USE[real] = self
        self._lock = lock

    @property
    def is_open(self) -> bool:
        """Whether it is locked by this broker."""
        return self._lock is not None

    def close(self) -> None:
        """Close all files, and let others use the directory."""
        self.disk.close()
        if self._lock is not None:
            self._lock.close()
            self._lock = None
            _IN_USE.pop(self.path.resolve(), None)

    def forget(self) -> None:
        """In a forked child: close its copies of the files; the lock stays with the parent."""
        self.disk.close()
        self._lock = None

    # What it belongs to

    def read_properties(self) -> MetaProperties | None:
        """What meta.properties says, None for an empty directory. Raises InvalidArgument."""
        path = self.path / names.META_PROPERTIES
        try:
            properties = decode_meta_properties(regular_bytes(path))
        except FileNotFoundError:
            others = [each.name for each in self.path.iterdir() if each.name != names.LOCK]
            if others:
                text = f"is no data directory: it has files, such as {min(others)}, but no {names.META_PROPERTIES}"
                raise wrong(self.path, text) from None
            return None
        except OSError as error:
            raise unusable(path, "cannot be read", error) from None
        except WireError as error:
            raise wrong(path, str(error)) from None
        if properties.node_id != self.node_id:
            text = f"belongs to node {properties.node_id}, but is used for node {self.node_id}; see --node-id"
            raise wrong(self.path, text)
        return properties

    def write_properties(self, properties: MetaProperties) -> None:
        """Write meta.properties. Raises OSError."""
        self.disk.replace(self.path / names.META_PROPERTIES, encode_meta_properties(properties))

    def take_clean_shutdown(self) -> bool:
        """Whether the last broker was stopped cleanly; if this one is killed, it was not. Raises OSError."""
        try:
            (self.path / names.CLEAN_SHUTDOWN).unlink()
        except FileNotFoundError:
            return False
        return True

    def write_clean_shutdown(self, broker_epoch: int) -> None:
        """The broker is stopped cleanly. Raises OSError."""
        self.disk.replace(self.path / names.CLEAN_SHUTDOWN, encode_clean_shutdown(broker_epoch))

    # Checkpoints

    def read_offsets(self, name: str) -> dict[PartitionFolder, int]:
        """A checkpoint of offsets; a missing file has none. Raises InvalidArgument."""
        path = self.path / name
        try:
            return decode_offsets(regular_bytes(path), str(path))
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise unusable(path, "cannot be read", error) from None
        except WireError as error:
            raise InvalidArgument("data", str(path), str(error)) from None

    def write_offsets(self, name: str, offsets: Mapping[PartitionFolder, int]) -> None:
        """Write a checkpoint of offsets. Raises OSError."""
        self.disk.replace(self.path / name, encode_offsets(offsets))

    # Folders

    def folders(self) -> dict[PartitionFolder, Path]:
        """The folders of partitions. Raises OSError, also for a symbolic link in the place of one."""
        found = {}
        for path in sorted(self.path.iterdir()):
            folder = names.parse_folder(path.name)
            if folder is not None:
                refuse_link(path)
                if path.is_dir():
                    found[folder] = path
        return found

    def remove_deleted(self) -> None:
        """Remove the folders that an earlier broker was removing. Raises OSError."""
        for path in list(self.path.iterdir()):
            if names.is_deleted_folder(path.name):
                refuse_link(path)
                shutil.rmtree(path)

    def take_away(self, folder: PartitionFolder, unique_id: str) -> Path | None:
        """Rename a partition's folder, as Kafka does, so that none is half removed. Raises OSError.

        Returns where it is now, to be removed; None if there is none.
        """
        gone = self.path / names.deleted_folder_name(*folder, unique_id)
        try:
            os.rename(self.path / names.folder_name(*folder), gone)
        except FileNotFoundError:
            return None
        return gone

    def remove_folder(self, folder: PartitionFolder, unique_id: str) -> None:
        """Remove a partition's folder at once. Raises OSError."""
        gone = self.take_away(folder, unique_id)
        if gone is not None:
            shutil.rmtree(gone)

    def put_aside(self, path: Path) -> Path:
        """Rename a folder of a partition that the cluster does not have, as Kafka does; returns where it is now."""
        number = 0
        while (aside := path.with_name(names.stray_folder_name(path.name, number))).exists():
            number += 1
        os.rename(path, aside)
        return aside

    def clear(self, but: Collection[str]) -> None:
        """Remove everything but the lock and what has these names. Raises OSError."""
        self.disk.close()
        for path in list(self.path.iterdir()):
            if path.name == names.LOCK or path.name in but:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
