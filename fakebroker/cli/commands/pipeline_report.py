"""`fakebroker pipeline report`: published tables as a page to look at."""

from collections.abc import Sequence
from pathlib import Path

import click

from fakebroker.analysis.pipeline.extras import need_extra
from fakebroker.analysis.pipeline.progress import Progress
from fakebroker.cli.commands.tables_option import several_tables_option
from fakebroker.cli.exit_status import errors_end_the_command
from fakebroker.protocol.errors import FakebrokerError

markdown_option = click.option("--markdown", metavar="FILE", help="Also write the report as Markdown.")


@click.command()
@several_tables_option
@click.option("--out", default="report.html", show_default=True, metavar="FILE", help="HTML file to write.")
@markdown_option
def report(tables: tuple[Path, ...], out: str, markdown: str | None) -> None:
    """Make one HTML page from the tables in one or more directories.

    The page is one file without dependencies. A table that is missing has no section.
    """
    write_report(tables, out, markdown)


def write_report(folders: Sequence[Path], out: str, markdown: str | None, progress: Progress | None = None) -> None:
    """Write the report of these tables as HTML, and as Markdown if that is asked for; ends the command for an error."""
    with errors_end_the_command():
        need_extra("history")
        from fakebroker.analysis.pipeline.report.markdown import markdown_of
        from fakebroker.analysis.pipeline.report.page import page_of
        from fakebroker.analysis.pipeline.report.report import make_report
        from fakebroker.analysis.pipeline.report.tables import Tables
        from fakebroker.analysis.pipeline.storage_failures import storage_failures_reported

        with storage_failures_reported():
            made = make_report(Tables(folders), progress or Progress())
        _write(Path(out), page_of(made))
        if markdown is not None:
            _write(Path(markdown), markdown_of(made))


def _write(path: Path, text: str) -> None:
    """Write a file; one that was there is replaced as a whole."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_text(text, "utf-8")
        unfinished.replace(path)
    except OSError as error:
        raise FakebrokerError(f"{path} cannot be written: {error.strerror or error}") from None
    click.echo(f"wrote {path}, {len(text.encode()) / 1e6:.1f} MB")
