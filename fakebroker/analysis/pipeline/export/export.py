"""Exports: the files of published tables in a store, with the manifest as the last write.

    done = export(Published(Path("tables")), Store("s3://lake/tables"), PARQUET)

Names of files are new whenever a table is made, so no file is ever replaced. Who has read a manifest finds its files
until the next manifest but one; what neither of both names is removed.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final, NamedTuple

from fakebroker.analysis.pipeline.export.store import Store
from fakebroker.analysis.pipeline.publish import FETCHED_FROM, MANIFEST, MANIFEST_VERSION, Published
from fakebroker.analysis.pipeline.tables import NAMES
from fakebroker.protocol.errors import FakebrokerError, InvalidArgument

_AT_ONCE: Final = 8
_NOTHING: Final = {"manifest_version": MANIFEST_VERSION, "tables": {}}


class Format(NamedTuple):
    """A table format. `commit` lets its own tables have the files of published ones, those of the store, alone."""

    name: str
    commit: Callable[[Store, Published], None]


PARQUET: Final = Format("parquet", lambda _store, _published: None)  # the manifest is all


class Exported(NamedTuple):
    """What an export has done: how many files it wrote, with how many bytes, and how many it removed."""

    files: int
    bytes: int
    removed: int


def export(published: Published, store: Store, kind: Format) -> Exported | None:
    """Bring a store to the state of published tables; None if it had it, and nothing was written.

    Raises FakebrokerError for what the store refuses, CheckFailed for tables that were changed by hand; the store then
    has the tables that it had.
    """
    before = _claimed(store, kind)
    manifest = {**published.manifest, "format": kind.name}
    if manifest == before:
        return None
    published.check_contents()
    known, wanted = _files_of(before), _files_of(manifest)
    left = [name for table in NAMES for name in store.names(table) if name.endswith(".parquet")]
    new = {name: published.folder / name for name in wanted if known.get(name) != wanted[name]}
    size_bytes = sum(file.stat().st_size for file in new.values())
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        list(threads.map(store.upload, new.values(), new))
    kind.commit(store, published)
    store.write_manifest(manifest)
    unnamed = [name for name in left if name not in known and name not in wanted]
    for name in unnamed:
        store.remove(name)
    return Exported(len(new), size_bytes, len(unnamed))


@contextmanager
def fetched(uri: str) -> Iterator[Path]:
    """A folder with the tables of an export, as long as the block runs. Raises FakebrokerError if there is none."""
    store = Store(uri)
    manifest = store.manifest()
    if manifest is None:
        raise FakebrokerError(f"{uri} is not an export of tables: it has no {MANIFEST}")
    folder = Path(mkdtemp(prefix="fakebroker-tables-"))
    try:
        names = _files_of(manifest)
        for table in manifest["tables"]:
            (folder / table).mkdir()
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            list(threads.map(store.download, names, (folder / name for name in names)))
        Store(folder.as_uri()).write_manifest({**manifest, FETCHED_FROM: uri})
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _claimed(store: Store, kind: Format) -> Mapping[str, Any]:
    """The manifest that the store has. An empty place gets one without tables: what lies there later is of exports."""
    if (found := store.manifest()) is None:
        if names := store.names():
            raise FakebrokerError(
                f"{store.uri} has {names[0]!r} and no {MANIFEST} of an export; nothing was written. Name an empty place"
            )
        found = {**_NOTHING, "format": kind.name}
        store.write_manifest(found)
    if found.get("format") != kind.name:
        there = found.get("format")
        raise InvalidArgument(
            "format", kind.name, f"{store.uri} has tables in the format {there}; give that, or another place"
        )
    return found


def _files_of(manifest: Mapping[str, Any]) -> dict[str, str]:
    """The files that a manifest names, as TABLE/FILE, with what says whether they are the same."""
    return {
        f"{table}/{file}": about.get("digests", {}).get(file, "")
        for table, about in manifest["tables"].items()
        for file in about["files"]
    }
