"""Exports, to a folder by its URI: what a reader sees before, in the middle and after."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fakebroker.analysis.pipeline.export.export import PARQUET, Exported, export, fetched
from fakebroker.analysis.pipeline.export.store import Store
from fakebroker.analysis.pipeline.publish import Published
from fakebroker.protocol.errors import CheckFailed, FakebrokerError, InvalidArgument
from tests.support.exported import offsets_in, published


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty place."""
    return Store((tmp_path / "lake").as_uri())


def offsets_at(store: Store) -> list[int]:
    with fetched(store.uri) as copy:
        Published(copy).check_contents()
        return offsets_in(copy)


def files_at(store: Store) -> set[str]:
    return {Path(name).name for folder in ("log_ends", "rejects") for name in store.names(folder)}


def test_the_same_tables_are_exported_once(tmp_path: Path, store: Store) -> None:
    """A second export of them writes nothing; one of other tables writes the files that are new."""
    first = export(published(tmp_path / "tables", 1, 2), store, PARQUET)
    written = (tmp_path / "lake" / "manifest.json").stat().st_mtime_ns
    again = export(Published(tmp_path / "tables"), store, PARQUET)
    assert (tmp_path / "lake" / "manifest.json").stat().st_mtime_ns == written
    other = export(published(tmp_path / "tables", 3), store, PARQUET)

    assert first is not None
    assert other is not None
    assert (first.files, again, other.files) == (2, None, 1)
    assert offsets_at(store) == [3]


def test_readers_of_the_last_manifest_but_one_find_their_files(tmp_path: Path, store: Store) -> None:
    """Files that a manifest no longer names are there until the export after that one, which removes them."""
    names = []
    removed = []
    for offset in (1, 2, 3, 4):
        tables = published(tmp_path / "tables", offset)
        done = export(tables, store, PARQUET)
        assert done is not None
        removed.append(done.removed)
        names.append({name for about in tables.tables.values() for name in about["files"]})
    assert removed == [0, 0, 1, 1]
    assert files_at(store) == names[2] | names[3]


@pytest.mark.parametrize("is_first", [True, False], ids=["of the first export", "of a later one"])
@pytest.mark.parametrize("step", ["upload", "write_manifest"])
def test_an_export_that_is_killed_changes_nothing(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch, step: str, is_first: bool
) -> None:
    """Readers have the tables of before; the next export goes on, and leaves nothing of the one that was killed."""
    if not is_first:
        export(published(tmp_path / "tables", 1), store, PARQUET)
    killed = Store(store.uri)
    break_at(killed, monkeypatch, step)
    with pytest.raises(KeyboardInterrupt):
        export(published(tmp_path / "tables", 2), killed, PARQUET)

    if is_first:
        assert Store(store.uri).manifest() in (None, {"manifest_version": 1, "tables": {}, "format": "parquet"})
    else:
        assert offsets_at(store) == [1]
    export(published(tmp_path / "tables", 3), store, PARQUET)
    export(published(tmp_path / "tables", 4), store, PARQUET)
    assert offsets_at(store) == [4]
    assert len(files_at(store)) == 3


def break_at(store: Store, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """Let a step of an export be the one in which it is killed; of manifests one with tables."""
    real: Callable[..., None] = getattr(store, step)

    def do(*given: object) -> None:
        if step == "upload" or (isinstance(given[0], dict) and given[0]["tables"]):
            raise KeyboardInterrupt
        real(*given)

    monkeypatch.setattr(store, step, do)


def test_a_place_with_something_else_is_left_alone(tmp_path: Path, store: Store) -> None:
    """Files of others are never removed: where there are some and no manifest, nothing is written."""
    (tmp_path / "lake" / "log_ends").mkdir(parents=True)
    (tmp_path / "lake" / "log_ends" / "theirs.parquet").write_text("theirs")

    with pytest.raises(FakebrokerError, match=r"has 'log_ends' and no manifest.json of an export"):
        export(published(tmp_path / "tables", 1), store, PARQUET)
    assert sorted(path.name for path in (tmp_path / "lake").rglob("*")) == ["log_ends", "theirs.parquet"]


def test_tables_that_were_changed_by_hand_are_not_exported(tmp_path: Path, store: Store) -> None:
    """What the manifest promises is compared before anything is copied."""
    tables = published(tmp_path / "tables", 1)
    (file,) = tables.folder_of("log_ends").iterdir()
    file.write_bytes(file.read_bytes()[::-1])

    with pytest.raises(CheckFailed, match="was changed after it was published"):
        export(tables, store, PARQUET)
    assert files_at(store) == set()


def test_a_place_has_one_format(tmp_path: Path, store: Store) -> None:
    """Another format would leave the tables of the first one behind."""
    tables = published(tmp_path / "tables", 1)
    assert export(tables, store, PARQUET) == Exported(2, sum(each["bytes"] for each in tables.tables.values()), 0)
    other = PARQUET._replace(name="delta")

    with pytest.raises(InvalidArgument, match="has tables in the format parquet; give that, or another place"):
        export(tables, store, other)


@pytest.mark.parametrize(
    ("name", "problem"),
    [("../../x", "is of another version of fakebroker: it has a table"), ("log_ends", "not a manifest that can be")],
)
def test_a_hostile_manifest_writes_nowhere_else(tmp_path: Path, store: Store, name: str, problem: str) -> None:
    """Names in a manifest lead to files of its tables only."""
    about = {"files": ["../../../evil.parquet"], "bytes": 1, "rows": 1}
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake" / "manifest.json").write_text(json.dumps({"manifest_version": 1, "tables": {name: about}}))

    with pytest.raises(FakebrokerError, match=problem), fetched(store.uri):
        pass
