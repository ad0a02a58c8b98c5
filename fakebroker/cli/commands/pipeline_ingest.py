"""`fakebroker pipeline ingest`: journals become the table of events."""

from pathlib import Path

import click

from fakebroker.cli.commands.engine_options import EngineChoice, chosen_engine, engine_options
from fakebroker.cli.commands.tables_option import tables_option
from fakebroker.cli.commands.work import reading_journals


@click.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@tables_option
@engine_options
def ingest(paths: tuple[str, ...], tables: Path, choice: EngineChoice) -> None:
    """Add journals to the table of events.

    A PATH is a file or a folder of files. Events that the table has already are not added again.
    """
    with chosen_engine(choice, reading_journals(paths)) as (engine, progress):
        from fakebroker.analysis.pipeline.ingest import ingest as ingest_journals
        from fakebroker.analysis.pipeline.publish import staging
        from fakebroker.analysis.pipeline.summary import summary

        with staging(engine, tables, progress) as stage:
            manifest = stage.publish(ingest_journals(stage, paths))
        click.echo(summary(tables, manifest, stage.made))
