"""Exports as Delta tables, read by Delta's library."""

from pathlib import Path

import pytest
from deltalake import DeltaTable

from fakebroker.analysis.pipeline.export.delta import DELTA
from fakebroker.analysis.pipeline.export.export import export, fetched
from fakebroker.analysis.pipeline.export.store import Store
from fakebroker.analysis.pipeline.rows import arrow_schema
from fakebroker.analysis.pipeline.tables import table
from fakebroker.protocol.errors import FakebrokerError
from tests.support.exported import offsets_in, published

pytestmark = pytest.mark.slow


def read(store: Store, name: str) -> DeltaTable:
    return DeltaTable(f"{store.uri}/{name}")


def test_each_export_is_a_version(tmp_path: Path) -> None:
    """Of tables that changed; a reader of Delta and one of the manifest have the same files."""
    store = Store((tmp_path / "lake").as_uri())
    for offsets in ((1, 2), (3,)):
        export(published(tmp_path / "tables", *offsets), store, DELTA)
    export(published(tmp_path / "tables", 3), store, DELTA)

    ends = read(store, "log_ends")
    with fetched(store.uri) as copy:
        assert offsets_in(copy) == [3]
        assert {Path(each).name for each in ends.file_uris()} == {each.name for each in (copy / "log_ends").iterdir()}
    assert ends.to_pyarrow_table().column("log_end_offset").to_pylist() == [3]
    assert ends.to_pyarrow_table().schema.names == arrow_schema(table("log_ends")).names
    assert (ends.version(), read(store, "rejects").version()) == (2, 0)


def test_a_column_that_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later version of fakebroker has a column that the Delta table does not have: it gets it."""
    store, real = Store((tmp_path / "lake").as_uri()), arrow_schema
    with monkeypatch.context() as earlier:
        earlier.setattr(
            "fakebroker.analysis.pipeline.export.delta.arrow_schema",
            lambda contract: real(contract).remove(len(contract.columns) - 1),
        )
        export(published(tmp_path / "tables", 1), store, DELTA)
    before = [field.name for field in read(store, "log_ends").schema().fields]
    export(published(tmp_path / "tables", 2), store, DELTA)

    after = [field.name for field in read(store, "log_ends").schema().fields]
    assert (after[:-1], after) == (before, list(table("log_ends").column_names))


def test_what_delta_refuses_names_the_table(tmp_path: Path) -> None:
    """A log that is broken is an error in one line; the manifest stays."""
    store = Store((tmp_path / "lake").as_uri())
    export(published(tmp_path / "tables", 1), store, DELTA)
    (log,) = (tmp_path / "lake" / "log_ends" / "_delta_log").glob("*.json")
    log.write_text("no JSON")

    with pytest.raises(FakebrokerError) as raised:
        export(published(tmp_path / "tables", 2), store, DELTA)
    assert str(raised.value).startswith(f"{store.uri}/log_ends: ")
    assert "\n" not in str(raised.value)
    with fetched(store.uri) as copy:
        assert offsets_in(copy) == [1]
