"""Exports as Iceberg tables of a catalog in SQLite, read by Iceberg's library."""

from pathlib import Path

import pytest
from pyiceberg.catalog import load_catalog

from fakebroker.analysis.pipeline.export.export import export, fetched
from fakebroker.analysis.pipeline.export.iceberg import iceberg
from fakebroker.analysis.pipeline.export.store import Store
from fakebroker.analysis.pipeline.rows import arrow_schema
from fakebroker.analysis.pipeline.tables import table
from fakebroker.protocol.errors import FakebrokerError
from tests.support.exported import offsets_in, published

pytestmark = pytest.mark.slow


@pytest.fixture
def catalog(tmp_path: Path) -> str:
    """The URI of a catalog that is not there yet."""
    return f"sqlite:///{tmp_path}/catalog.db"


def offsets_of(catalog: str) -> list[int]:
    found = load_catalog("fakebroker", uri=catalog).load_table("fakebroker.log_ends").scan().to_arrow()
    return sorted(found.column("log_end_offset").to_pylist())


def test_each_export_is_a_snapshot(tmp_path: Path, catalog: str) -> None:
    """Of tables that changed; a reader of the catalog and one of the manifest have the same rows."""
    store = Store((tmp_path / "lake").as_uri())
    for offsets in ((1, 2), (3,)):
        export(published(tmp_path / "tables", *offsets), store, iceberg(catalog))
        assert offsets_of(catalog) == list(offsets)

    with fetched(store.uri) as copy:
        assert offsets_in(copy) == [3]
    rejects = load_catalog("fakebroker", uri=catalog).load_table("fakebroker.rejects")
    assert len(rejects.snapshots()) == 1


def test_a_column_that_is_new(tmp_path: Path, catalog: str) -> None:
    """A later version of fakebroker has a column that the Iceberg table does not have: it gets it."""
    store, columns = Store((tmp_path / "lake").as_uri()), arrow_schema(table("log_ends"))
    store.write_manifest({"manifest_version": 1, "tables": {}, "format": "iceberg"})
    there = load_catalog("fakebroker", uri=catalog)
    there.create_namespace("fakebroker")
    there.create_table("fakebroker.log_ends", columns.remove(len(columns) - 1), location=f"{store.uri}/log_ends")
    export(published(tmp_path / "tables", 2), store, iceberg(catalog))

    assert there.load_table("fakebroker.log_ends").schema().column_names == columns.names
    assert offsets_of(catalog) == [2]


def test_a_catalog_has_the_tables_of_one_place(tmp_path: Path, catalog: str) -> None:
    """Exports of two places would replace each other's rows."""
    tables = published(tmp_path / "tables", 1)
    export(tables, Store((tmp_path / "lake").as_uri()), iceberg(catalog))

    with pytest.raises(FakebrokerError, match=r"the catalog has fakebroker.rejects at .*lake/rejects, not at .*other"):
        export(tables, Store((tmp_path / "other").as_uri()), iceberg(catalog))


def test_what_the_catalog_refuses(tmp_path: Path) -> None:
    """One that cannot be reached is an error in one line, without the address, which may have a password."""
    store = Store((tmp_path / "lake").as_uri())

    with pytest.raises(FakebrokerError, match=r"the Iceberg catalog: .*unable to open database file") as raised:
        export(published(tmp_path / "tables", 1), store, iceberg("sqlite:////nowhere/secret.db"))
    assert "secret" not in str(raised.value)
