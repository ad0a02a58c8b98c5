"""`fakebroker pipeline run`: journals become tables and a report, in one command."""

from pathlib import Path

import click

from fakebroker.cli.commands.engine_options import EngineChoice, chosen_engine, engine_options
from fakebroker.cli.commands.pipeline_report import markdown_option, write_report
from fakebroker.cli.commands.tables_option import tables_option
from fakebroker.cli.commands.work import reading_journals


@click.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@tables_option
@click.option("--report", default="report.html", show_default=True, metavar="FILE", help="HTML file to write.")
@markdown_option
@engine_options
def run(paths: tuple[str, ...], tables: Path, report: str, markdown: str | None, choice: EngineChoice) -> None:
    """Ingest journals, build and check all tables, and write the report.

    A PATH is a file or a folder of files. The same as `pipeline ingest`, `build` and `report`. If a check fails, no
    table changes and no report is written.
    """
    with chosen_engine(choice, reading_journals(paths)) as (engine, progress):
        from fakebroker.analysis.pipeline.build import build
        from fakebroker.analysis.pipeline.ingest import ingest
        from fakebroker.analysis.pipeline.publish import staging
        from fakebroker.analysis.pipeline.summary import summary

        with staging(engine, tables, progress) as stage:
            about = ingest(stage, paths)
            build(stage)
            manifest = stage.publish(about)
        click.echo(summary(tables, manifest, stage.made))
    write_report([tables], report, markdown)
