"""Delta Lake: a log beside the files of each table, from which Delta's readers know which files it has."""

from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, Schema
from deltalake.transaction import AddAction, create_table_with_add_actions

from fakebroker.analysis.pipeline.export.export import Format
from fakebroker.analysis.pipeline.export.store import Store, library_failures_reported
from fakebroker.analysis.pipeline.publish import Published
from fakebroker.analysis.pipeline.rows import arrow_schema, parquet_files
from fakebroker.analysis.pipeline.tables import table

_OVERWRITE: Final = "overwrite"  # the table has the given files and no others


def _commit_all(store: Store, published: Published) -> None:
    """A version of each table whose files changed. Raises FakebrokerError for what Delta refuses."""
    for name in published.tables:
        place, files = f"{store.uri}/{name}", parquet_files(published.folder_of(name))
        with library_failures_reported(place):
            _commit(place, arrow_schema(table(name)), [_added(file) for file in files])


DELTA: Final = Format("delta", _commit_all)


def _commit(place: str, columns: pa.Schema, files: list[Any]) -> None:  # AddActions: types differ by its release
    if not DeltaTable.is_deltatable(place):
        create_table_with_add_actions(place, Schema.from_arrow(columns), files)
        return
    found = DeltaTable(place)
    known = {Path(each).name for each in found.file_uris()}
    if known != {each.path for each in files} or found.schema() != Schema.from_arrow(columns):
        found.create_write_transaction(files, _OVERWRITE, Schema.from_arrow(columns))


def _added(file: Path) -> Any:
    found, rows = file.stat(), pq.read_metadata(file).num_rows
    return AddAction(file.name, found.st_size, {}, int(found.st_mtime * 1000), True, f'{{"numRecords": {rows}}}')
