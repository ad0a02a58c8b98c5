"""Files of a history: which files paths name, what each is, and the rows of the table `decoded` in them.

    rows = list(read_history(["/var/lib/kafka/data"], source="west"))

`files_of` and `read_file` are the same in two steps, for readers that share the files out among machines.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from glob import glob, has_magic
from os import PathLike
from pathlib import Path
from typing import Final, NamedTuple

from fakebroker.analysis.history import file_kinds
from fakebroker.analysis.history.decode import decode_all
from fakebroker.analysis.history.json_lines import read_json_lines
from fakebroker.analysis.history.log_record import LogFile, LogRecord, Reject
from fakebroker.analysis.history.parquet import read_parquet
from fakebroker.analysis.history.segments import read_segment
from fakebroker.analysis.history.sink_rows import TOPIC
from fakebroker.analysis.pipeline.contract import Row
from fakebroker.protocol.errors import FakebrokerError

SOURCE: Final = TOPIC
"""The name of a log that nobody has named. It does not depend on paths: the same log read again from elsewhere is the
same log. Who reads the logs of several clusters names them."""


_READERS: Final[dict[file_kinds.Kind, Callable[[LogFile], Iterator[LogRecord | Reject]]]] = {
    "segment": read_segment,
    "json": read_json_lines,
    "parquet": read_parquet,
}


class HistoryError(FakebrokerError):
    """Paths that name no history that can be read. The message says which and why."""


class HistoryFile(NamedTuple):
    """A file of a history. The partition is that which its folder or name tells; None if the rows tell it."""

    path: Path
    kind: file_kinds.Kind
    log_partition: int | None

    def of_log(self, source: str) -> LogFile:
        """The file as one of the log of this name."""
        return LogFile(self.path, self.log_partition, source)


def read_history(paths: Iterable[str | Path], *, source: str | None = None) -> Iterator[Row]:
    """The rows of the table `decoded` for all records in files, folders and patterns such as `dump/*.parquet`.

    A record that stands in several files comes several times. Files are read in the order of the paths, those of a
    folder by partition and base offset, or by name. `source` names the log; `__consumer_offsets` unless given.
    Raises HistoryError, at once, when a path names nothing that can be read. A file that turns out unreadable later is
    a reject.
    """
    files = files_of(paths)
    return decode_all(found for file in files for found in read_file(file.kind, file.of_log(source or SOURCE)))


def files_of(paths: Iterable[str | Path]) -> list[HistoryFile]:
    """The files that paths name, each once, with their kinds. Raises HistoryError."""
    found: dict[Path, HistoryFile] = {}
    for path in paths:
        for file in _files_at(str(path)):
            _check_name(file.path)
            found.setdefault(file.path.resolve(), file)
    if not found:
        raise HistoryError("no path given")
    return list(found.values())


def read_file(kind: file_kinds.Kind, file: LogFile) -> Iterator[LogRecord | Reject]:
    """What is in one file. A file that cannot be opened is a reject."""
    try:
        yield from _READERS[kind](file)
    except OSError as error:
        yield file.reject(0, reason_of(error))


def has_scheme(path: str | PathLike[str]) -> bool:
    """Whether a path names files of another file system, such as `s3a://bucket/folder`."""
    return "://" in str(path)


def _files_at(text: str) -> Iterator[HistoryFile]:
    """The files of one path or pattern. Raises HistoryError if there are none."""
    if has_scheme(text):
        raise HistoryError(f"{text}: only `history decode --engine spark` reads other file systems")
    if has_magic(text) and not Path(text).exists():
        matches = sorted(glob(text, recursive=True))
        if not matches:
            raise HistoryError(f"{text}: no file matches")
    else:
        matches = [text]
    is_pattern = matches != [text]
    files = [file for match in matches for file in _files_of_path(Path(match), may_skip=is_pattern)]
    if not files:
        raise HistoryError(f"{text}: no log segments of {TOPIC}, JSON lines or Parquet found")
    _check_that_one_opens(files)
    yield from files


def _check_that_one_opens(files: Sequence[HistoryFile]) -> None:
    """Raise HistoryError if not one of the files can be opened: if some can be read, the others are reported."""
    errors: list[OSError] = []
    for file in files:
        try:
            file.path.open("rb").close()
            return
        except OSError as error:
            errors.append(error)
    raise HistoryError(f"{files[0].path}: {reason_of(errors[0])}")


def _check_name(path: Path) -> None:
    """Raise HistoryError for a name that is not UTF-8: tables have a column for it."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise HistoryError(f"{str(path)!r}: the name of the file is not UTF-8") from None


def _files_of_path(path: Path, *, may_skip: bool) -> Iterator[HistoryFile]:
    try:
        if not path.exists():
            raise HistoryError(f"{path}: no such file or folder")
        if path.is_dir():
            yield from sorted(_files_in(path), key=_order)
        elif path.is_file() and (file := _known(path)):
            yield file
        elif not may_skip:
            raise HistoryError(f"{path}: {_why_unknown(path)}")
    except OSError as error:
        raise HistoryError(f"{error.filename or path}: {reason_of(error)}") from None


def _files_in(folder: Path) -> Iterator[HistoryFile]:
    """The files in a folder and those in it: of a data directory only the partitions of `__consumer_offsets`."""
    children = sorted(folder.iterdir())
    partitions = [each for each in children if file_kinds.is_log_folder(each.name) and each.is_dir()]
    for child in partitions or children:
        if file_kinds.is_hidden(child.name):
            continue
        if child.is_dir():
            if not _leads_back(child, folder):
                yield from _files_in(child)
        elif child.is_file() and file_kinds.kind_by_name(child.name) and (file := _known(child)):
            yield file


def _leads_back(child: Path, folder: Path) -> bool:
    """Whether something in a folder is a link to that folder, or to one around it."""
    return child.is_symlink() and folder.resolve().is_relative_to(child.resolve())


def _known(path: Path) -> HistoryFile | None:
    """The file with its kind, by name and else by first bytes; None if it is of no kind that is read."""
    partition = file_kinds.partition_in(path.absolute().as_posix())
    kind = file_kinds.kind_by_name(path.name) or _kind_by_bytes(path)
    if kind is None or (kind == "segment" and partition is None):
        return None
    return HistoryFile(path, kind, partition)


def _kind_by_bytes(path: Path) -> file_kinds.Kind | None:
    with path.open("rb") as file:
        return file_kinds.kind_by_front(file.read(file_kinds.FRONT_BYTES))


def _why_unknown(path: Path) -> str:
    if not path.is_file():
        return "neither a file nor a folder; write the output of a pipe to a file first"
    if path.stat().st_size == 0:
        return "the file is empty"
    if file_kinds.kind_by_name(path.name) == "segment" or _kind_by_bytes(path) == "segment":
        return f"a log segment must be in a folder {TOPIC}-N, where N is its partition"
    return "not a log segment, JSON lines or Parquet"


def _order(file: HistoryFile) -> tuple[int, int, str]:
    return file_kinds.reading_order(str(file.path), file.kind, file.log_partition)


def reason_of(error: OSError) -> str:
    """Why a file is a reject, or stops reading."""
    return f"the file cannot be read: {error.strerror or error}"
