"""The folder in which a clone grows: what is done stays there, so that a clone that was interrupted can go on.

clone.json      what is cloned from where
parts.jsonl     a line for each finished part: its name, its value, how long the other two files are with it
data            batches and numbers of logs, as they will stand in the snapshot (state_codec.py)
records         records of internal topics, one after the other (`InternalRecord`)
"""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from struct import Struct
from typing import Any, BinaryIO, Final, NamedTuple, Self

from fakebroker.platform.files import regular_bytes, regular_file
from fakebroker.protocol.errors import InvalidArgument
from fakebroker.protocol.json_text import parse_json
from fakebroker.serve.storage.file_lock import locked

Json = Any
_ENTRY: Final = Struct(">BIqii")
_VERSION: Final = 1
_OTHER: Final = {
    "version": "of another fakebroker release",
    "cluster": "of another cluster",
    "options": "with other options",
}


class InternalRecord(NamedTuple):
    """A record of an internal topic of the clone, which is written when all are there."""

    topic: int  # its number among the internal topics that are made
    partition: int
    timestamp_ms: int
    key: bytes
    value: bytes

    def to_bytes(self) -> bytes:
        """The record as it stands in a file."""
        return _ENTRY.pack(*self[:3], len(self.key), len(self.value)) + self.key + self.value

    @classmethod
    def read_all(cls, file: BinaryIO) -> "Iterator[InternalRecord]":
        """The records from where a file stands to its end."""
        while head := file.read(_ENTRY.size):
            topic, partition, timestamp_ms, key_bytes, value_bytes = _ENTRY.unpack(head)
            yield cls(topic, partition, timestamp_ms, file.read(key_bytes), file.read(value_bytes))


class AppendedFile:
    """A file that is written at its end only. Its length and `+=` are those of a bytearray."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO = regular_file(path, "ab")
        self._size_bytes = path.stat().st_size

    def __len__(self) -> int:
        return self._size_bytes

    def __iadd__(self, data: bytes) -> Self:
        self._file.write(data)
        self._size_bytes += len(data)
        return self

    def flush(self) -> None:
        """Hand everything to the system."""
        self._file.flush()

    def cut(self, size_bytes: int) -> None:
        """Keep the first bytes only. Raises ValueError if there are not so many."""
        if size_bytes > self._size_bytes:
            raise ValueError(f"{self._path} has {self._size_bytes} bytes, and should have {size_bytes}")
        self._file.truncate(size_bytes)
        self._size_bytes = size_bytes

    def read(self) -> BinaryIO:
        """The file, opened for reading."""
        self.flush()
        return regular_file(self._path, "rb")

    def close(self) -> None:
        """Close it."""
        self._file.close()


class WorkFolder:
    """The finished parts of a clone by their names; `data` and `records` take what is too large for a part."""

    def __init__(self, path: Path, identity: dict[str, Json]) -> None:
        """Make the folder, or go on in it if it is there.

        Raises InvalidArgument if it is a clone of something else, is damaged, or used by another process; OSError.
        """
        self.path = path
        self.parts: dict[str, Json] = {}
        self.problems: list[str] = []
        self._pending: list[str] = []
        self._check(identity)
        self._lock = _locked(path)
        self.data = AppendedFile(path / "data")
        self.records = AppendedFile(path / "records")
        try:
            self._read_parts()
        except ValueError as error:
            self.data.close()
            self.records.close()
            self._lock.close()
            raise _other(path, f"is damaged: {error}") from None
        self._lines = (path / "parts.jsonl").open("a", encoding="utf-8")

    def part(self, name: str, make: Callable[..., Json], *arguments: object) -> Json:
        """The value of a part, which is made unless it is there already, and is finished then."""
        if name not in self.parts:
            self._pending = []
            self._finish(name, make(*arguments))
        return self.parts[name]

    def note(self, problem: str) -> None:
        """Keep a sentence about what could not be cloned, with the part that is being made."""
        self._pending.append(problem)

    def add_record(self, record: InternalRecord) -> None:
        """Keep a record of an internal topic; it counts when the part that it belongs to is finished."""
        self.records += record.to_bytes()

    def read_records(self) -> Iterator[InternalRecord]:
        """All records of internal topics, in the order in which they were added."""
        with self.records.read() as file:
            yield from InternalRecord.read_all(file)

    def close(self) -> None:
        """Close the files; the folder stays."""
        for file in (self.data, self.records, self._lines, self._lock):
            file.close()

    def remove(self) -> None:
        """Remove the folder: the clone is finished."""
        self.close()
        shutil.rmtree(self.path)

    def _finish(self, name: str, value: Json) -> None:
        self.data.flush()
        self.records.flush()
        line = {
            "part": name,
            "value": value,
            "problems": self._pending,
            "data": len(self.data),
            "records": len(self.records),
        }
        self._lines.write(json.dumps(line, separators=(",", ":")) + "\n")
        self._lines.flush()
        self.parts[name] = parse_json(json.dumps(value).encode())  # as the next start will read it
        self.problems += self._pending

    def _check(self, identity: dict[str, Json]) -> None:
        self.path.mkdir(exist_ok=True)
        file = self.path / "clone.json"
        wanted = {"version": _VERSION, **identity}
        if file.exists():
            try:
                found = parse_json(regular_bytes(file))
            except ValueError:
                raise _other(self.path, "is damaged") from None
            for name, value in wanted.items():
                if not isinstance(found, dict) or found.get(name) != value:
                    raise _other(self.path, f"is a clone {_OTHER[name]}")
        elif any(self.path.iterdir()):
            raise _other(self.path, "is no unfinished clone")
        else:
            file.write_text(json.dumps(wanted))

    def _read_parts(self) -> None:
        """Read the finished parts, and drop what belongs to none. The last line may be incomplete."""
        path, data_bytes, records_bytes, end = self.path / "parts.jsonl", 0, 0, 0
        if path.exists():
            with regular_file(path, "rb") as file:
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    part = parse_json(line)
                    self.parts[part["part"]] = part["value"]
                    self.problems += part["problems"]
                    data_bytes, records_bytes, end = part["data"], part["records"], end + len(line)
            with regular_file(path, "ab") as file:
                file.truncate(end)
        self.data.cut(data_bytes)
        self.records.cut(records_bytes)


def _locked(path: Path) -> BinaryIO:
    """The file clone.json, locked until it is closed: two clones would write into each other's files."""
    file = locked(path / "clone.json")
    if file is None:
        raise InvalidArgument("out", str(path), f"{path} is in use by another clone; wait for it to end")
    return file


def _other(path: Path, what: str) -> InvalidArgument:
    return InvalidArgument("out", str(path), f"{path} {what}; remove it, or use --restart")
