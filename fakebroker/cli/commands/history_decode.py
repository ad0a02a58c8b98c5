"""`fakebroker history decode`: a history of `__consumer_offsets` and `__transaction_state` becomes tables."""

import io
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from fakebroker.analysis.pipeline.contract import KEY_CHECK
from fakebroker.analysis.pipeline.extras import need_extra
from fakebroker.analysis.pipeline.progress import Progress
from fakebroker.cli.commands.engine_options import (
    EngineChoice,
    chosen_engine,
    embedded_engine,
    engine_options,
    refuse_spark,
)
from fakebroker.cli.commands.kafka_options import kafka_options
from fakebroker.cli.commands.pipeline_report import write_report
from fakebroker.cli.commands.tables_option import tables_option
from fakebroker.cli.commands.work import reading_kafka, reading_logs
from fakebroker.cli.exit_status import errors_end_the_command
from fakebroker.cli.following import follow as follow_until_signal
from fakebroker.client.security import ClientConfig

if TYPE_CHECKING:
    from fakebroker.analysis.history.followed import Followed
    from fakebroker.analysis.pipeline.distinct_records import DecodedOptions
    from fakebroker.analysis.pipeline.engines import Engine
    from fakebroker.analysis.pipeline.publish import Staging

_FROM_DECODED: Final = ("coordinator_records", "rejects", "commits")


@click.command()
@click.argument("paths", metavar="PATH...", nargs=-1)
@tables_option
@click.option("--source", metavar="NAME", help="Name of the log, to tell clusters apart.")
@kafka_options("--bootstrap", "Read from a running Kafka cluster instead of files; changes nothing.")
@click.option("--follow", is_flag=True, help="Continue reading from the cluster, until SIGINT or SIGTERM.")
@click.option("--report", metavar="FILE", help="With --follow: build all tables, too, and write this HTML file.")
@engine_options
def decode(
    paths: tuple[str, ...],
    tables: Path,
    source: str | None,
    bootstrap: ClientConfig | None,
    follow: bool,
    report: str | None,
    choice: EngineChoice,
) -> None:
    """Decode histories of __consumer_offsets into tables.

    PATHs are log segments, a broker's data directory (__transaction_state, too), Parquet or JSON lines of a
    sink, or folders of these;
    with Spark also URLs such as s3a://dump/__consumer_offsets/*.parquet.
    """
    if bool(paths) == bool(bootstrap):
        raise click.UsageError("give either PATHs or --bootstrap")
    if not _is_utf_8(source or ""):
        raise click.BadParameter(f"{source!r} is not UTF-8", param_hint="--source")
    if follow and bootstrap:
        refuse_spark(choice)
        _follow(tables, source, bootstrap, report)
        return
    if follow or report:
        raise click.UsageError("--follow needs --bootstrap, and --report needs --follow")
    with chosen_engine(choice, reading_kafka if bootstrap else reading_logs(paths)) as (engine, progress):
        from fakebroker.analysis.pipeline.publish import ChecksFailed

        asked = _Asked(engine, progress, tables, paths, source, bootstrap)
        try:
            summary = _publish(asked, may_repeat=False)
        except ChecksFailed as failed:
            if not any(each.check.name == KEY_CHECK for each in failed.failed):
                raise
            click.echo("the segments of a folder repeat a record: decoding again, comparing all records", err=True)
            summary = _publish(asked, may_repeat=True)
        click.echo(summary)


def _follow(tables: Path, source: str | None, kafka: ClientConfig, report: str | None) -> None:
    """Publish what the log has got in rounds; what was read is kept beside the tables."""
    with errors_end_the_command():
        need_extra("history")
        from fakebroker.analysis.history.followed import Followed
        from fakebroker.analysis.history.reading import SOURCE
        from fakebroker.analysis.pipeline.write_lock import write_lock

        folder = tables.absolute().with_name(f"{tables.name}.followed")
        with write_lock(folder):
            followed = Followed(folder, source or SOURCE)
            follow_until_signal(lambda: _take(followed, tables, source, kafka, report))


def _take(followed: "Followed", tables: Path, source: str | None, kafka: ClientConfig, report: str | None) -> None:
    """One round. Raises FakebrokerError."""
    from fakebroker.analysis.pipeline.build import build
    from fakebroker.analysis.pipeline.publish import staging

    if not followed.read(kafka) and tables.exists():
        return
    quiet = Progress(io.StringIO())
    with embedded_engine() as engine:
        click.echo(_publish(_Asked(engine, quiet, tables, (), source, kafka, followed), may_repeat=False))
    if report is None:
        return
    with embedded_engine() as engine, staging(engine, tables, quiet) as stage:
        build(stage)
        stage.publish({})
    write_report([tables], report, None, quiet)


def _is_utf_8(text: str) -> bool:
    """Whether an argument was UTF-8 on the command line: Python keeps other bytes as surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


class _Asked(NamedTuple):
    """What is to be decoded, to where, by which engine."""

    engine: "Engine"
    progress: "Progress"
    tables: Path
    paths: tuple[str, ...]
    source: str | None
    kafka: ClientConfig | None
    followed: "Followed | None" = None


def _publish(asked: _Asked, *, may_repeat: bool) -> str:
    """Make and publish the tables; returns a summary of them. Raises FakebrokerError.

    With `may_repeat` two rows may be of one record even if the names of the files say otherwise: damage does that.
    """
    from fakebroker.analysis.history.reading import SOURCE
    from fakebroker.analysis.history.transaction_log import transaction_frames
    from fakebroker.analysis.pipeline.build import FROM_LOG, OF_RETENTION, make_tables
    from fakebroker.analysis.pipeline.engines import union
    from fakebroker.analysis.pipeline.publish import staging
    from fakebroker.analysis.pipeline.summary import summary
    from fakebroker.analysis.pipeline.tables import table

    _, _, tables, paths, source, kafka, followed = asked
    with staging(asked.engine, tables, asked.progress) as stage:
        frames: dict[str, Any] = {}
        frames["decoded"], rows_in, options = _decoded(stage, asked, may_repeat=may_repeat)
        frames["transaction_log"], rejects, of_transactions = transaction_frames(stage, paths, kafka, source or SOURCE)
        if rejects:
            found = stage.engine.frame(table("decoded"), rejects)
            frames["decoded"] = union(stage.engine, table("decoded"), [frames["decoded"], found])
        make_tables(stage, _FROM_DECODED, frames, options)
        make_tables(stage, [name for name in FROM_LOG if name not in _FROM_DECODED], frames)
        if kafka:
            _store_log_ends(stage, frames, source, kafka, is_growing=followed is not None)
        stage.drop(OF_RETENTION)
        made = stage.made
        about = {
            "rows_in": rows_in + of_transactions,
            "rejected": made["rejects"],
            "paths": [kafka.bootstrap] if kafka else list(paths),
        }
        return summary(tables, stage.publish(about), made)


def _decoded(stage: "Staging", asked: _Asked, *, may_repeat: bool) -> "tuple[Any, int, DecodedOptions | None]":
    """The rows of `decoded` that tables are to be made of, how many were read, and what is known of them."""
    _, _, _, paths, source, kafka, followed = asked
    if followed is not None:
        from fakebroker.analysis.pipeline.rows import count_rows

        return followed.frame(stage.engine), count_rows(followed.folder), None
    from fakebroker.analysis.pipeline.sources.decoded_history import decoded_history

    return decoded_history(stage, paths, kafka, source, may_repeat=may_repeat)


def _store_log_ends(
    stage: "Staging", frames: dict[str, Any], source: str | None, kafka: ClientConfig, *, is_growing: bool
) -> None:
    """Ask the live Kafka for the ends of the logs that were committed for, and make the table of them.

    Of a log that is followed earlier answers are kept.
    """
    from fakebroker.analysis.history.live import live_ends
    from fakebroker.analysis.history.reading import SOURCE
    from fakebroker.analysis.pipeline.build import live_ends as known_ends
    from fakebroker.analysis.pipeline.build import make_tables
    from fakebroker.analysis.pipeline.tables import table

    partitions = _committed_partitions(stage)
    rows = live_ends(kafka, partitions, source=source or SOURCE, at_ms=time.time_ns() // 1_000_000)
    known = stage.engine.rows(known_ends(stage)) if is_growing else []
    frames["live_ends"] = stage.engine.frame(table("live_ends"), [*known, *rows])
    make_tables(stage, ["log_ends"], frames)


def _committed_partitions(stage: "Staging") -> set[tuple[str, int]]:
    query = 'SELECT DISTINCT topic, "partition" FROM commits'
    return {
        (row["topic"], row["partition"]) for row in stage.engine.asked(query, {"commits": [stage.folder / "commits"]})
    }
