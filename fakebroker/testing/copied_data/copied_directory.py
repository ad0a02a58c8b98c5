"""One log directory of a Kafka: its cluster, broker, folders and checkpoints. It is only read."""

import os
from pathlib import Path

from fakebroker.platform.files import lock_for_process, regular_bytes, regular_file
from fakebroker.protocol.errors import InvalidArgument, Unavailable, WireError
from fakebroker.protocol.storage import names
from fakebroker.protocol.storage.checkpoints import decode_offsets
from fakebroker.protocol.storage.names import PartitionFolder
from fakebroker.protocol.storage.properties import MetaProperties, decode_meta_properties, decode_partition_metadata
from fakebroker.serve.storage.log_directory import is_in_use
from fakebroker.serve.storage.replacement import contents


def wrong(path: Path, text: str) -> InvalidArgument:
    """The error of a directory or a file in it that cannot be read."""
    return InvalidArgument("data_from", str(path), f"{path} {text}")


class CopiedDirectory:
    """A log directory that has a meta.properties; `problems` gets a sentence about each file that is not used."""

    def __init__(self, path: Path, problems: list[str]) -> None:
        """Raises InvalidArgument for what is no directory of Kafka in KRaft mode, Unavailable while one runs on it."""
        self.path = path
        self.problems = problems
        self.properties = self._properties()
        self._check_lock()
        self.log_starts = self._offsets(names.LOG_STARTS)
        self.cleaned = self._offsets(names.CLEANER_OFFSETS)

    @property
    def metadata_folder(self) -> Path:
        """The folder of the metadata log, if there is one."""
        return self.path / "__cluster_metadata-0"

    def partitions(self) -> dict[PartitionFolder, Path]:
        """The folders of partitions. Raises InvalidArgument."""
        found = {}
        for path in _entries(self.path):
            folder = names.parse_folder(path.name)
            if folder is not None and path.is_dir() and path != self.metadata_folder:
                found[folder] = path
        return found

    def topic_id(self, folder: Path) -> bytes | None:
        """The topic id that a partition's folder has; None, with a problem, if it cannot be read."""
        path = folder / names.PARTITION_METADATA
        try:
            return decode_partition_metadata(regular_bytes(path))
        except (OSError, WireError) as error:
            self.problems.append(f"{path} is not used: {_reason(error)}")
            return None

    def _properties(self) -> MetaProperties:
        path = self.path / names.META_PROPERTIES
        if not self.path.exists():
            raise wrong(self.path, "does not exist")
        try:
            return decode_meta_properties(regular_bytes(path))
        except (FileNotFoundError, NotADirectoryError):
            raise wrong(self.path, f"has no {names.META_PROPERTIES}: it is no log directory of Kafka") from None
        except OSError as error:
            raise wrong(path, f"cannot be read: {_reason(error)}") from None
        except WireError as error:
            raise wrong(path, f"cannot be used: {error}") from None

    def _check_lock(self) -> None:
        """Raises Unavailable if a broker runs on the directory. The lock is not touched in this process's own."""
        text = f"{self.path} is in use by a running broker; stop it, or use a copy of the directory"
        if is_in_use(self.path):
            raise Unavailable(text)
        try:
            with regular_file(self.path / names.LOCK, "rb") as lock:
                lock_for_process(lock.fileno(), is_shared=True)
        except FileNotFoundError:
            return
        except BlockingIOError:
            raise Unavailable(text) from None
        except OSError as error:
            raise wrong(self.path / names.LOCK, f"cannot be read: {_reason(error)}") from None

    def _offsets(self, name: str) -> dict[PartitionFolder, int]:
        """A checkpoint of offsets; one that is missing or damaged has none."""
        path = self.path / name
        try:
            return decode_offsets(regular_bytes(path), str(path))
        except FileNotFoundError:
            return {}
        except OSError as error:
            self.problems.append(f"{path} is not used: {_reason(error)}")
        except WireError as error:  # names the file
            self.problems.append(f"{error}; it is not used")
        return {}


def log_directories(path: Path) -> list[Path]:
    """The log directories that a path names: itself, or those in it, as of several brokers. Raises InvalidArgument."""
    if len(contents(path)) > 1:
        raise wrong(path, "has a state that is not moved into place: a kill came in between; use it with --data once")
    if (path / names.META_PROPERTIES).exists() or not path.is_dir():
        return [path]
    found = [each for each in _entries(path) if (each / names.META_PROPERTIES).exists()]
    return found or [path]


def _entries(path: Path) -> list[Path]:
    try:
        return sorted(path.iterdir())
    except OSError as error:
        raise wrong(path, f"cannot be read: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def read_file(path: Path) -> bytes:
    """The content of a file. Raises InvalidArgument."""
    try:
        return regular_bytes(path)
    except OSError as error:
        raise wrong(path, f"cannot be read: {_reason(error)}") from None


def modified_ms(path: Path) -> int:
    """When a file was last written to."""
    return os.stat(path).st_mtime_ns // 1_000_000
