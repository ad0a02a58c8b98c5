"""`fakebroker pipeline run`: journals become tables and a report, in one command."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from fakebroker.analysis.pipeline.progress import Progress
from fakebroker.cli.commands.engine_options import (
    EngineChoice,
    chosen_engine,
    embedded_engine,
    engine_options,
    refuse_spark,
)
from fakebroker.cli.commands.pipeline_report import markdown_option, write_report
from fakebroker.cli.commands.tables_option import tables_option
from fakebroker.cli.commands.work import reading_journals
from fakebroker.cli.exit_status import errors_end_the_command
from fakebroker.cli.following import follow as follow_until_signal


@click.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@tables_option
@click.option("--report", default="report.html", show_default=True, metavar="FILE", help="HTML file to write.")
@markdown_option
@click.option("--follow", is_flag=True, help="Continue while brokers write, until SIGINT or SIGTERM.")
@engine_options
def run(
    paths: tuple[str, ...], tables: Path, report: str, markdown: str | None, follow: bool, choice: EngineChoice
) -> None:
    """Ingest journals, build and check all tables, and write the report.

    A PATH is a file or a folder of files. The same as `pipeline ingest`, `build` and `report`. If a check fails, no
    table changes and no report is written.
    """
    if follow:
        refuse_spark(choice)
        _follow(paths, tables, report, markdown)
        return
    with chosen_engine(choice, reading_journals(paths)) as (engine, progress):
        click.echo(_publish(engine, progress, tables, paths))
    write_report([tables], report, markdown)


def _publish(engine: Any, progress: Progress, tables: Path, paths: Sequence[str], *, is_growing: bool = False) -> str:
    """Ingest, build, check and publish; returns a summary. Raises FakebrokerError."""
    from fakebroker.analysis.pipeline.build import build
    from fakebroker.analysis.pipeline.ingest import ingest
    from fakebroker.analysis.pipeline.publish import staging
    from fakebroker.analysis.pipeline.summary import summary

    with staging(engine, tables, progress) as stage:
        about = ingest(stage, paths, is_growing=is_growing)
        build(stage)
        manifest = stage.publish(about)
    return summary(tables, manifest, stage.made)


def _follow(paths: Sequence[str], tables: Path, report: str, markdown: str | None) -> None:
    """Publish what is new in rounds. A file that has grown is read again: tables know its lines."""
    known: dict[str, int] = {}
    quiet = Progress(io.StringIO())

    def take() -> None:
        from fakebroker.analysis.pipeline.sources.journal_files import journal_sizes

        there = journal_sizes(paths)
        if new := [file for file, size_bytes in there.items() if known.get(file) != size_bytes]:
            with embedded_engine() as engine:
                click.echo(_publish(engine, quiet, tables, new, is_growing=True))
            write_report([tables], report, markdown, quiet)
            known.update(there)

    with errors_end_the_command():
        follow_until_signal(take)
