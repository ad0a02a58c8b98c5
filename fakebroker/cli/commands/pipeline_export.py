"""`fakebroker pipeline export`: published tables go to an object store or another folder."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from fakebroker.analysis.pipeline.extras import need_extra
from fakebroker.cli.choice import Choice
from fakebroker.cli.commands.tables_option import tables_option
from fakebroker.cli.exit_status import errors_end_the_command

if TYPE_CHECKING:
    from fakebroker.analysis.pipeline.export.export import Format

_FORMATS: Final = ("parquet", "delta", "iceberg")


@click.command()
@tables_option
@click.option("--to", required=True, metavar="URI", help="Place, such as s3://bucket/tables or file:///srv/tables.")
@click.option(
    "--format", "kind", type=Choice(_FORMATS), default=_FORMATS[0], show_default=True, help="Format of the tables."
)
@click.option("--catalog", metavar="URI", help="Iceberg catalog: a SQL database or the URL of a REST catalog.")
def export(tables: Path, to: str, kind: str, catalog: str | None) -> None:
    """Copy published tables to an object store or another folder.

    Only files that are not there yet are written, the manifest last. Delta and Iceberg need the extra of that name.
    """
    if (kind == "iceberg") != (catalog is not None):
        raise click.UsageError("--format iceberg and --catalog go together")
    with errors_end_the_command():
        need_extra("history")
        from fakebroker.analysis.pipeline.export.export import export as export_tables
        from fakebroker.analysis.pipeline.export.store import Store
        from fakebroker.analysis.pipeline.publish import Published

        done = export_tables(Published(tables), store := Store(to), _format(kind, catalog))
    if done is None:
        click.echo(f"{store.uri} has these tables; nothing was written")
    else:
        removed = f"; {done.removed} that no manifest names removed" if done.removed else ""
        click.echo(f"exported to {store.uri}: {done.files} new files, {done.bytes / 1e6:.1f} MB{removed}")


def _format(kind: str, catalog: str | None) -> "Format":
    """The format of that name. Raises MissingExtra."""
    if kind == "delta":
        need_extra("delta")
        from fakebroker.analysis.pipeline.export.delta import DELTA

        return DELTA
    if catalog is not None:
        need_extra("iceberg")
        from fakebroker.analysis.pipeline.export.iceberg import iceberg

        return iceberg(catalog)
    from fakebroker.analysis.pipeline.export.export import PARQUET

    return PARQUET
