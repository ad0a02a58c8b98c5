"""The option with which every command names its directory of tables: those that it reads, and those that it writes."""

from pathlib import Path
from typing import Any, Final

import click

from fakebroker.analysis.pipeline.extras import need_extra
from fakebroker.cli.exit_status import errors_end_the_command

DEFAULT: Final = "tables"


class TablesDir(click.Path):
    """A directory of tables. Its name must be UTF-8, since manifests and reports have it."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path. Fails for a URI, and for other bytes, which Python keeps as surrogates."""
        if any("\ud800" <= character <= "\udfff" for character in str(value)):
            self.fail(f"{str(value)!r} is not UTF-8", param, ctx)
        if "://" in str(value):
            return self.of_uri(str(value), param, ctx)
        return super().convert(value, param, ctx)

    def of_uri(self, uri: str, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """What stands for a URI: nothing."""
        self.fail(f"{uri!r} is not a directory; `pipeline export` writes tables to a URI", param, ctx)


class ReadTablesDir(TablesDir):
    """A directory of tables that are only read, or the URI of an export: a copy of it, while the command runs."""

    def of_uri(self, uri: str, param: click.Parameter | None, ctx: click.Context | None) -> Path:  # noqa: ARG002
        """The directory with the copy."""
        with errors_end_the_command():
            need_extra("history")
            from fakebroker.analysis.pipeline.export.export import fetched

            copy = fetched(uri)
            return copy.__enter__() if ctx is None else ctx.with_resource(copy)


tables_option = click.option(
    "--tables", type=TablesDir(), default=DEFAULT, show_default=True, metavar="DIR", help="Directory of the tables."
)
read_tables_option = click.option(
    "--tables",
    type=ReadTablesDir(),
    default=DEFAULT,
    show_default=True,
    metavar="DIR|URI",
    help="Directory of the tables, or URI of an export.",
)
several_tables_option = click.option(
    "--tables",
    type=ReadTablesDir(),
    default=[DEFAULT],
    show_default=True,
    multiple=True,
    metavar="DIR|URI",
    help="Directory of the tables, or URI of an export. Repeatable.",
)
