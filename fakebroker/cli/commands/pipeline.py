"""`fakebroker pipeline`: journals become tables, tables a report."""

from pathlib import Path

import click

from fakebroker.cli.commands.engine_options import EngineChoice, chosen_engine, engine_options
from fakebroker.cli.commands.tables_option import read_tables_option, tables_option
from fakebroker.cli.commands.work import building, checking
from fakebroker.cli.lazy_commands import LazyCommands


class _Commands(LazyCommands):
    """The commands, in the order in which they are used."""

    elsewhere: dict[str, tuple[str, str]] = {
        "ingest": ("fakebroker.cli.commands.pipeline_ingest", "ingest"),
        "run": ("fakebroker.cli.commands.pipeline_run", "run"),
        "report": ("fakebroker.cli.commands.pipeline_report", "report"),
        "export": ("fakebroker.cli.commands.pipeline_export", "export"),
    }


@click.group(cls=_Commands)
def pipeline() -> None:
    """Make tables and a report from journals.

    Needs the extra `history`, or `spark` for --engine spark.
    """


@pipeline.command()
@tables_option
@engine_options
def build(tables: Path, choice: EngineChoice) -> None:
    """Make the silver and gold tables from the table of events."""
    with chosen_engine(choice, building(tables)) as (engine, progress):
        from fakebroker.analysis.pipeline.build import build as build_tables
        from fakebroker.analysis.pipeline.publish import Published, staging
        from fakebroker.analysis.pipeline.summary import summary

        Published(tables)
        with staging(engine, tables, progress) as stage:
            build_tables(stage)
            manifest = stage.publish({})
        click.echo(summary(tables, manifest, stage.made))


@pipeline.command()
@read_tables_option
@engine_options
def check(tables: Path, choice: EngineChoice) -> None:
    """Run the checks of all tables; exit status 1 if one fails.

    Prints the rows that break a check. A file that is not byte for byte the published one fails, too.
    """
    with chosen_engine(choice, checking(tables)) as (engine, progress):
        from fakebroker.analysis.pipeline.publish import Published, check_tables

        published = Published(tables)
        published.check_contents()
        folders = {name: published.folder_of(name) for name in published.tables}
        done = check_tables(engine, folders, progress)
        left_out = f", {done['left_out']} skipped: their table is missing" if done["left_out"] else ""
        click.echo(f"{done['run']} checks passed{left_out}")
