"""The option with which every command names its directory of tables: those that it reads, and those that it writes."""

from pathlib import Path
from typing import Any, Final

import click

DEFAULT: Final = "tables"


class TablesDir(click.Path):
    """A directory of tables. Its name must be UTF-8, since manifests and reports have it."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path. Fails for other bytes, which Python keeps as surrogates."""
        if any("\ud800" <= character <= "\udfff" for character in str(value)):
            self.fail(f"{str(value)!r} is not UTF-8", param, ctx)
        return super().convert(value, param, ctx)


tables_option = click.option(
    "--tables", type=TablesDir(), default=DEFAULT, show_default=True, metavar="DIR", help="Directory of the tables."
)
several_tables_option = click.option(
    "--tables",
    type=TablesDir(),
    default=[DEFAULT],
    show_default=True,
    multiple=True,
    metavar="DIR",
    help="Directory of the tables. Repeatable.",
)
