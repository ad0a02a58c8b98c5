"""Apache Iceberg: metadata beside the files, and a catalog that knows which of it is a table now."""

import os
from functools import partial
from typing import Final

from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.expressions import AlwaysTrue

from fakebroker.analysis.pipeline.export.export import Format
from fakebroker.analysis.pipeline.export.store import Store, library_failures_reported
from fakebroker.analysis.pipeline.publish import Published
from fakebroker.analysis.pipeline.rows import arrow_schema
from fakebroker.analysis.pipeline.tables import table
from fakebroker.protocol.errors import FakebrokerError

NAMESPACE: Final = "fakebroker"
_OF_ENVIRONMENT: Final = {"s3.endpoint": "AWS_ENDPOINT_URL", "s3.region": "AWS_REGION"}  # as Arrow and Delta read it


def iceberg(catalog_uri: str) -> Format:
    """Tables of the namespace `fakebroker` of a catalog, which is a SQL database or a REST catalog."""
    return Format("iceberg", partial(_commit_all, catalog_uri))


def _commit_all(catalog_uri: str, store: Store, published: Published) -> None:
    """A snapshot of each table whose files changed. Raises FakebrokerError for what the catalog refuses."""
    with library_failures_reported("the Iceberg catalog"):
        settings = {name: os.environ[given] for name, given in _OF_ENVIRONMENT.items() if given in os.environ}
        catalog = load_catalog(NAMESPACE, uri=catalog_uri, **settings)
        catalog.create_namespace_if_not_exists(NAMESPACE)
        for name, about in published.tables.items():
            _commit(catalog, name, f"{store.uri}/{name}", about["files"])


def _commit(catalog: Catalog, name: str, place: str, files: list[str]) -> None:
    columns, wanted = arrow_schema(table(name)), [f"{place}/{file}" for file in files]
    try:
        found = catalog.load_table((NAMESPACE, name))
    except NoSuchTableError:
        found = catalog.create_table((NAMESPACE, name), columns, location=place)
    if found.location() != place:
        raise FakebrokerError(f"the catalog has {NAMESPACE}.{name} at {found.location()}, not at {place}")
    known = {*found.inspect.data_files().column("file_path").to_pylist()}
    if known == {*wanted}:
        return
    with found.transaction() as change:
        with change.update_schema() as schema:
            schema.union_by_name(columns)
        if known:
            change.delete(AlwaysTrue())
        change.add_files(wanted, check_duplicate_files=False)
