"""`fakebroker history decode`: a history of `__consumer_offsets` becomes tables."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from fakebroker.pipeline.engine_options import EngineChoice, chosen_engine, engine_options

if TYPE_CHECKING:
    from fakebroker.pipeline.publish import Staging
    from fakebroker.pipeline.tables.decoded import DecodedOptions

_FROM_DECODED: Final = ("coordinator_records", "rejects", "commits")


@click.command()
@click.argument("paths", metavar="PATH...", nargs=-1)
@click.option("--out", required=True, metavar="DIR", help="Where the tables go.")
@click.option("--source", metavar="NAME", help="What the log is called, to tell clusters apart.")
@click.option(
    "--bootstrap", metavar="HOST:PORT", help="Read from a running Kafka instead of files; it changes nothing."
)
@engine_options
def decode(paths: tuple[str, ...], out: str, source: str | None, bootstrap: str | None, choice: EngineChoice) -> None:
    """Decode histories of __consumer_offsets into tables in DIR.

    PATHs are log segments, a broker's data directory, Parquet or JSON lines of a sink, or folders of these.
    """
    if bool(paths) == bool(bootstrap):
        raise click.UsageError("give either PATHs or --bootstrap")
    if source is not None and not source.isprintable():  # a table must have it: not every argument is UTF-8
        raise click.BadParameter(f"{source!r} is no text that can be shown", param_hint="--source")
    with chosen_engine(choice) as (engine, progress):
        from fakebroker.pipeline.build import FROM_LOG, make_tables
        from fakebroker.pipeline.publish import staging
        from fakebroker.pipeline.summary import summary

        with staging(engine, Path(out), progress) as stage:
            frames: dict[str, Any] = {}
            frames["decoded"], rows_in, options = _decoded(stage, paths, source, bootstrap)
            make_tables(stage, _FROM_DECODED, frames, options)
            make_tables(stage, [name for name in FROM_LOG if name not in _FROM_DECODED], frames)
            if bootstrap:
                _store_log_ends(stage, frames, source, bootstrap)
            made = stage.made
            about = {
                "rows_in": sum(made[name] for name in _FROM_DECODED) if rows_in is None else rows_in,
                "rejected": made["rejects"],
                "paths": [bootstrap] if bootstrap else list(paths),
            }
            manifest = stage.publish(about)
        click.echo(summary(Path(out), manifest, stage.made))


def _decoded(
    stage: "Staging", paths: tuple[str, ...], source: str | None, bootstrap: str | None
) -> "tuple[Any, int | None, DecodedOptions | None]":
    """The table `decoded`, how many rows it has if that is known, and for Spark what else is known of it."""
    if stage.engine.name == "python":
        rows = list(_rows(paths, source, bootstrap))
        return rows, len(rows), None
    from fakebroker.history.reading import files_of
    from fakebroker.pipeline.sources.history import history_frame
    from fakebroker.pipeline.sources.repeats import known_of
    from fakebroker.pipeline.tables.decoded import DecodedOptions

    session: Any = stage.engine.session  # type: ignore[attr-defined]
    options = DecodedOptions(may_repeat=False) if bootstrap else known_of(files_of(paths))
    frame = history_frame(session, paths=paths, bootstrap=bootstrap, source=source)
    if not options.may_repeat and not options.has_transactions:
        return frame, None, options  # each table reads what it needs: that is cheaper than to store all rows first
    kept, rows_in = stage.keep("decoded", frame)
    return kept, rows_in, options


def _rows(paths: tuple[str, ...], source: str | None, bootstrap: str | None) -> Any:
    if bootstrap is None:
        from fakebroker.history.reading import read_history

        return read_history(paths, source=source)
    from fakebroker.history.decode import decode_all
    from fakebroker.history.live import read_live
    from fakebroker.history.reading import SOURCE

    return decode_all(read_live(bootstrap, source or SOURCE))


def _store_log_ends(stage: "Staging", frames: dict[str, Any], source: str | None, bootstrap: str) -> None:
    """Ask the live Kafka for the ends of the logs that were committed for, and make the table of them."""
    from fakebroker.history.live import live_ends
    from fakebroker.history.reading import SOURCE
    from fakebroker.pipeline.build import make_tables
    from fakebroker.pipeline.engines import contract_of

    partitions = _committed_partitions(stage, frames["commits"])
    rows = live_ends(bootstrap, partitions, source=source or SOURCE, at_ms=time.time_ns() // 1_000_000)
    frames["live_ends"] = stage.engine.frame(contract_of("live_ends"), rows)
    make_tables(stage, ["log_ends"], frames)


def _committed_partitions(stage: "Staging", commits: Any) -> set[tuple[str, int]]:
    if stage.engine.name == "python":
        return {(row["topic"], row["partition"]) for row in commits}
    found = commits.select("topic", "partition").distinct().collect()
    return {(row["topic"], row["partition"]) for row in found}
