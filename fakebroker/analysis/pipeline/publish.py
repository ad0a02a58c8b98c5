"""Publishing tables: written to a staging folder, checked there, and put in place by a rename, with a manifest.

A published folder has a folder of Parquet files for each table, and `manifest.json`. What is published together is
checked together; when a check fails, or anything else goes wrong, the folder stays as it was. Tables that are not made
anew are kept: their files are linked into the staging folder, not copied. One process at a time writes to a folder.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from glob import escape
from pathlib import Path
from time import sleep
from typing import Any, Final, NamedTuple

from fakebroker.analysis.pipeline.contract import MAX_SHOWN, Check, Table
from fakebroker.analysis.pipeline.engines import Engine, Frame, contract_of, make, only_new, tables_in, union
from fakebroker.analysis.pipeline.progress import Progress
from fakebroker.analysis.pipeline.rows import Rows, count_rows, parquet_files
from fakebroker.analysis.pipeline.tables import NAMES, table
from fakebroker.analysis.pipeline.write_lock import IsWritten, write_lock
from fakebroker.protocol.errors import CheckFailed, FakebrokerError
from fakebroker.protocol.json_text import parse_json

MANIFEST: Final = "manifest.json"
MANIFEST_VERSION: Final = 1
FETCHED_FROM: Final = "fetched_from"
"""Of a folder that is a copy of an export: the URI of that."""
MOST_FILES: Final = 64  # to which rows are added before they are written as one
_DIGEST_BYTES: Final = 16
_BETWEEN_RENAMES_S: Final = 0.02  # who reads looks again after this time


class FailedCheck(NamedTuple):
    """A check of a table that returned rows; `rows` are the first of them."""

    table: str
    check: Check
    rows: Rows

    def __str__(self) -> str:
        shown = "\n".join(f"    {json.dumps(row, ensure_ascii=False, default=str)}" for row in self.rows)
        return f"{self.table}: a check failed: {self.check.must}\n{shown}"


class ChecksFailed(CheckFailed):
    """Checks of tables failed; nothing was published."""

    def __init__(self, failed: list[FailedCheck]) -> None:
        super().__init__("\n".join(map(str, failed)))
        self.failed = failed


class Published:
    """A published folder: which tables it has, and what its manifest says of them.

    Raises FakebrokerError for a folder that is not there or has no manifest that can be read.
    """

    def __init__(self, folder: Path) -> None:
        _undo_interrupted(folder)
        self.folder = folder
        try:
            text = (folder / MANIFEST).read_bytes()
        except OSError as error:
            why = "no such folder" if not folder.exists() else f"it has no {MANIFEST}: {error.strerror}"
            raise FakebrokerError(f"{folder} is not a folder of published tables: {why}") from None
        self.manifest = read_manifest(text, str(folder / MANIFEST))
        self.tables: dict[str, dict[str, Any]] = self.manifest["tables"]
        self.place = str(self.manifest.get(FETCHED_FROM, folder))  # for those who read about it

    def has(self, name: str) -> bool:
        """Whether the table is there."""
        return name in self.tables

    def check_contents(self) -> None:
        """Read every file of every table: raises CheckFailed if one is not byte for byte what was published.

        `folder_of` asks for names and lengths only, since it is asked at each use. Tables that a version before this
        check published have no digests: of them the names and lengths are asked.
        """
        for name, about in self.tables.items():
            folder = self.folder_of(name)
            for file, digest in about.get("digests", {}).items():
                if _digest(folder / file) != digest:
                    raise CheckFailed(
                        f"{folder} was changed after it was published: {file} differs. Build the table again."
                    )

    def folder_of(self, name: str) -> Path:
        """Where the table's files are. Raises FakebrokerError if they are not those that were published."""
        about = self.tables[name]
        there = {file.name: file for file in parquet_files(self.folder / name)}
        wrong = [f"{file} is missing" for file in about["files"] if file not in there]
        wrong += [f"{file} was not published" for file in there if file not in about["files"]]
        if not wrong and sum(file.stat().st_size for file in there.values()) != about["bytes"]:
            wrong.append("a file has another length")
        if wrong:
            raise FakebrokerError(
                f"{self.folder / name} was changed after it was published: {wrong[0]}. Build the table again."
            )
        return self.folder / name


class Staging:
    """Tables that are being made, in a folder beside the one they are for."""

    def __init__(self, engine: Engine, target: Path, progress: Progress) -> None:
        self.engine = engine
        self.target = target
        self.folder = target.parent / f".{target.name}.staging-{os.getpid()}"
        self.scratch = target.parent / f".{target.name}.scratch-{os.getpid()}"
        self.made: dict[str, int] = {}  # and how many rows were written
        self._ahead: dict[str, Path] = {}  # where files of tables are that are stored later
        self._progress = progress
        self._published = Published(target) if (target / MANIFEST).is_file() else None
        self._kept = tuple(self._published.tables) if self._published else ()

    def store(self, name: str, frame: Frame) -> Frame:
        """Write a table; returns it as it was stored, so that what is made of it does not make it again."""
        return self._stored(name, lambda: frame)

    def make(self, name: str, frames: Mapping[str, Frame], options: Any = None) -> Frame:
        """Make a table of others and write it, which is one stage; returns it as it was stored."""
        return self._stored(name, lambda: make(self.engine, name, frames, options))

    def _stored(self, name: str, made: Callable[[], Frame]) -> Frame:
        contract = table(name)
        with self._progress.stage(name) as stage:
            self.engine.store(contract, made(), self.folder / name)
            if name in self._ahead:
                for file in parquet_files(self._ahead.pop(name)):
                    os.rename(file, self.folder / name / file.name)  # names of files are new each time
            stage.rows = self.made[name] = count_rows(self.folder / name)
        return self.engine.load(contract, self.folder / name)

    def keep(self, name: str, frame: Frame) -> tuple[Frame, int]:
        """Write what is used several times and not published; returns it as written, and how many rows it has."""
        contract = contract_of(name)
        with self._progress.stage(name) as stage:
            self.engine.store(contract, frame, self.scratch / name)
            stage.rows = rows = count_rows(self.scratch / name)
        return self.engine.load(contract, self.scratch / name), rows

    def write_ahead(self, name: str, ahead: Sequence[str], write: Callable[..., int]) -> tuple[Frame, int]:
        """Let `write` fill folders, which it makes: rows of each table of `ahead`, and at last rows of `name`.

        The tables of `ahead` are stored later, and these rows are added then; `name` is kept as by `keep`. Returns the
        rows of `name`, and how many rows all folders have, which is what `write` returns.
        """
        with self._progress.stage(name) as stage:
            stage.rows = rows = write(*(self.scratch / each for each in (*ahead, name)))
        self._ahead |= {each: self.scratch / each for each in ahead}
        return self.engine.load(contract_of(name), self.scratch / name), rows

    def add(self, name: str, frame: Frame) -> Frame:
        """Add rows to a table: those that are published stay in their files. Of many files one is made."""
        new, are_many = frame, False
        if name in self._kept:
            known = self.load(name)
            new = only_new(self.engine, table(name), frame, known)
            are_many = len(parquet_files(self._folder_of_kept(name))) >= MOST_FILES
            new = union(self.engine, table(name), [known, new]) if are_many else new
        self.store(name, new)
        if name in self._kept and not are_many:
            _link_files(self._folder_of_kept(name), self.folder / name)
        return self.load(name)

    def load(self, name: str) -> Frame:
        """A table as it will be published: as made, else as it was published before; empty if it was not."""
        folder = self._folder_of_kept(name) if name in self._kept and name not in self.made else self.folder / name
        return self.engine.load(table(name), folder)

    def has(self, name: str) -> bool:
        """Whether the table is made, or was published before."""
        return name in self.made or name in self._kept

    def drop(self, names: Iterable[str]) -> None:
        """Do not publish these tables again, which were made of others than those that are published now."""
        self._kept = tuple(name for name in self._kept if name not in names)

    def publish(self, about: Mapping[str, Any]) -> dict[str, Any]:
        """Check what was made and put it in place; returns the manifest, with `about` in it.

        Raises ChecksFailed, and publishes nothing, when a check returns rows.
        """
        for name in self._kept:
            if name not in self.made:
                _link_files(self._folder_of_kept(name), self.folder / name)
        names = [name for name in NAMES if name in self.made or name in self._kept]
        checks = check_tables(self.engine, {name: self.folder / name for name in names}, self._progress, [*self.made])
        manifest = write_manifest(
            self.folder, names, {"engine": self.engine.name, **about, "checks": checks}, self._published
        )
        _put_in_place(self.folder, self.target)
        return manifest

    def _folder_of_kept(self, name: str) -> Path:
        assert self._published is not None
        return self._published.folder_of(name)


@contextmanager
def staging(engine: Engine, target: Path, progress: Progress) -> Iterator[Staging]:
    """A staging folder for `target`; it is gone after the block, whatever happens in it.

    Raises FakebrokerError if `target` is there and is no folder of published tables, cannot be written, or if
    another process writes to it.
    """
    target = target.absolute()
    with write_lock(target):
        _undo_interrupted(target, is_locked=True)
        for each in _left_by_killed(target):
            shutil.rmtree(each, ignore_errors=True)
        if target.exists() and not (target / MANIFEST).is_file() and (not target.is_dir() or any(target.iterdir())):
            raise FakebrokerError(
                f"{target} already exists and is not a folder of published tables; it was not changed"
            )
        stage = Staging(engine, target, progress)
        try:
            stage.folder.mkdir()
            yield stage
        finally:
            shutil.rmtree(stage.folder, ignore_errors=True)
            shutil.rmtree(stage.scratch, ignore_errors=True)


def check_tables(
    engine: Engine, folders: Mapping[str, Path], progress: Progress, only: list[str] | None = None
) -> dict[str, int]:
    """Run the checks of tables, of those in `only` if given: how many were run, and left out for want of a table.

    Raises ChecksFailed with all that failed.
    """
    failed, run, left_out = [], 0, 0
    with progress.stage("checks") as stage:
        for name in folders if only is None else only:
            for check in table(name).all_checks:
                if any(each not in folders for each in tables_in(check.query)):
                    left_out += 1
                    continue
                run += 1
                query = f"SELECT * FROM ({check.query}) AS failing LIMIT {MAX_SHOWN}"
                if rows := engine.asked(query, {each: [folder] for each, folder in folders.items()}):
                    failed.append(FailedCheck(name, check, rows))
        stage.rows = run
    if failed:
        raise ChecksFailed(failed)
    return {"run": run, "left_out": left_out}


def write_manifest(
    folder: Path, names: Iterable[str], about: Mapping[str, Any], before: Published | None = None
) -> dict[str, Any]:
    """Write the manifest of a folder that has these tables, with `about` in it; returns it.

    Files that were in `before` have the digests that they had when they were made: what was changed since is seen.
    """
    known = {} if before is None else {name: each.get("digests", {}) for name, each in before.tables.items()}
    tables = {name: _manifest_entry(table(name), folder / name, known.get(name, {})) for name in names}
    manifest = {"manifest_version": MANIFEST_VERSION, **about, "tables": tables}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", "utf-8")
    return manifest


def read_manifest(text: bytes, place: str) -> dict[str, Any]:
    """The manifest that was at `place`. Raises FakebrokerError if it cannot be read."""
    try:
        return _manifest_of(parse_json(text.decode("utf-8")))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise FakebrokerError(f"{place} is not a manifest that can be read") from None
    except _OtherVersion as error:
        raise FakebrokerError(f"{place} is of another version of fakebroker: {error}") from None


class _OtherVersion(Exception):
    """What a manifest has that this version does not know."""


def _manifest_of(found: Any) -> dict[str, Any]:
    """A manifest that has what is needed of it. Raises _OtherVersion, and whatever Python does for another shape."""
    if found["manifest_version"] != MANIFEST_VERSION:
        raise _OtherVersion(f"manifest_version is {found['manifest_version']!r}, not {MANIFEST_VERSION}")
    for name, about in found["tables"].items():
        if name not in NAMES:
            raise _OtherVersion(f"it has a table {name!r}")
        about["bytes"], about["rows"], dict(about.get("digests", {}))
        if any("/" in file or "\\" in file for file in about["files"]):
            raise ValueError("a file outside of its table")
    manifest: dict[str, Any] = found
    return manifest


def _manifest_entry(contract: Table, folder: Path, known: Mapping[str, str]) -> dict[str, Any]:
    """What the manifest says of a table. `known` are digests by file, of files that were published before."""
    files = parquet_files(folder)
    return {
        "layer": contract.layer,
        "rows": count_rows(folder),
        "files": [file.name for file in files],
        "bytes": sum(file.stat().st_size for file in files),
        "digests": {file.name: known.get(file.name) or _digest(file) for file in files},
    }


def _digest(file: Path) -> str:
    """What is in a file, as a short text: another content has another."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, lambda: hashlib.blake2b(digest_size=_DIGEST_BYTES)).hexdigest()


def _link_files(source: Path, target: Path) -> None:
    """Give the files of a table a second name in another folder; copy them where the system has no such links."""
    target.mkdir(parents=True, exist_ok=True)
    for file in parquet_files(source):
        other = target / file.name
        try:
            os.link(file, other)
        except OSError:
            shutil.copy2(file, other)


def _put_in_place(staged: Path, target: Path) -> None:
    """Rename `staged` to `target`. What was there before goes last, so that one of both is always there."""
    before = _before(target)
    if target.exists():
        os.rename(target, before)
    os.rename(staged, target)
    shutil.rmtree(before, ignore_errors=True)


def _before(target: Path) -> Path:
    return target.parent / f".{target.name}.before"


def _left_by_killed(target: Path) -> list[Path]:
    """What processes that were killed have left beside `target`, whose lock we hold."""
    name = escape(target.name)
    patterns = (f".{name}.staging-*", f".{name}.scratch-*")
    there = [each for pattern in patterns for each in target.parent.glob(pattern)]
    return [*there, *([_before(target)] if (target / MANIFEST).is_file() else [])]


def _undo_interrupted(target: Path, *, is_locked: bool = False) -> None:
    """Undo a publication that was killed between its two renames.

    Who only reads takes the lock for that, since the writer may be alive, and on its way to the second rename.
    """
    target = target.absolute()
    while not target.exists() and _before(target).exists():
        try:
            with nullcontext() if is_locked else write_lock(target):
                if not target.exists():
                    os.rename(_before(target), target)
        except IsWritten:
            sleep(_BETWEEN_RENAMES_S)
        except FileNotFoundError:
            return
