"""`fakebroker pipeline ingest`: journals become the table of events."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fakebroker.cli.commands.engine_options import EngineChoice, chosen_engine, engine_options

if TYPE_CHECKING:
    from fakebroker.analysis.pipeline.engines import Engine, Frame


@click.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--out", default="pipeline", show_default=True, metavar="DIR", help="Directory for the tables.")
@engine_options
def ingest(paths: tuple[str, ...], out: str, choice: EngineChoice) -> None:
    """Add journals to the table of events.

    A PATH is a file or a folder of files. Events that the table has already are not added again.
    """
    with chosen_engine(choice) as (engine, progress):
        from fakebroker.analysis.pipeline.engines import make
        from fakebroker.analysis.pipeline.publish import staging
        from fakebroker.analysis.pipeline.summary import summary

        lines = _journal_lines(engine, paths)
        with staging(engine, Path(out), progress) as stage:
            frame, rows_in = stage.keep("journal_lines", lines)
            known = stage.load("events")
            stage.add("events", make(engine, "events", {"journal_lines": frame}))
            stage.add("rejects", make(engine, "journal_rejects", {"journal_lines": frame, "events": known}))
            manifest = stage.publish({"rows_in": rows_in, "rejected": stage.made["rejects"], "paths": list(paths)})
        click.echo(summary(Path(out), manifest, stage.made))


def _journal_lines(engine: "Engine", paths: tuple[str, ...]) -> "Frame":
    if engine.name == "python":
        from fakebroker.analysis.pipeline.sources.journal_files import journal_files, journal_lines

        return journal_lines(journal_files(paths))
    from fakebroker.analysis.pipeline.sources import journal_frames

    session: Any = engine.session  # type: ignore[attr-defined]
    return journal_frames.journal_lines(session, paths)
